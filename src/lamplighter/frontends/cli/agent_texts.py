"""Entries of ours in the text of an agent's configuration: put in, seen to be there, taken out again. JSON and TOML.

Knows which of what is there is ours; knows nothing of files.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from lamplighter.agents.setup import Entry, is_hook
from lamplighter.frontends.cli import json_text, toml_text
from lamplighter.frontends.cli.json_text import Child, Node


class Text:
    """One file's entries, for one agent."""

    def __init__(self, agent: str, path: str, entries: Sequence[Entry]) -> None:
        self.agent = agent
        self.entries = entries
        self.toml = path.endswith(".toml")
        self.whole = next((entry for entry in entries if not entry.keys), None)

    def is_complete(self, text: str) -> bool:
        """Whether all of it is there, once, as it should be."""
        if self.whole is not None:
            return text == self.whole.value
        if self.toml:
            return all(toml_text.value_at(text, entry.keys) == entry.value for entry in self.entries)
        if not text.strip():
            return False
        return all(self._is_there(text, entry) for entry in self.entries)

    def put_in(self, text: str) -> str:
        if self.whole is not None:
            return str(self.whole.value)
        if self.toml:
            for entry in self.entries:
                text = toml_text.with_table(text, entry.keys, table(entry.keys, entry.value))
            toml_text.parse(text)
            return text
        text = text if text.strip() else "{}\n"
        for entry in self.entries:
            put = json_text.with_item if entry.item else json_text.with_value
            text = put(text, entry.keys, entry.value)
        return text

    def take_out(self, text: str, before: str | None) -> str:
        """The text without what is ours. Where the file had something else of that name before, that is there again."""
        if self.whole is not None:
            return before or ""
        for entry in self.entries:
            text = self._without_toml(text, entry, before) if self.toml else self._without_json(text, entry, before)
        return text

    # -- TOML

    def _without_toml(self, text: str, entry: Entry, before: str | None) -> str:
        found = toml_text.value_at(text, entry.keys)
        known = toml_text.value_at(before, entry.keys) if before else None
        if found is None or found == known:
            return text
        clean = toml_text.without_table(text, entry.keys)
        return f"{clean}\n{table(entry.keys, cast('dict[str, Any]', known))}" if isinstance(known, dict) else clean

    # -- JSON

    def _is_there(self, text: str, entry: Entry) -> bool:
        node = json_text.find(text, entry.keys)
        if node is None:
            return False
        value = json_text.value_of(text, node)
        if not entry.item:
            return value == entry.value
        ours = [hook for group in _groups(value) for hook in _groups(group.get("hooks")) if is_hook(hook, self.agent)]
        return ours == entry.value["hooks"]

    def _without_json(self, text: str, entry: Entry, before: str | None) -> str:
        if not text.strip():
            return text
        if entry.item:
            return self._without_hooks(text, entry.keys, before)
        if json_text.find(text, entry.keys) is None:
            return text
        known = json_text.find(before, entry.keys) if before and before.strip() else None
        if known is not None and before is not None:
            return self._put_back(text, entry.keys, json_text.value_of(before, known))
        return _without(text, entry.keys, before)

    def _put_back(self, text: str, keys: Sequence[str], value: Any) -> str:
        node = json_text.find(text, keys)
        same = node is not None and json_text.value_of(text, node) == value
        return text if same else json_text.with_value(text, keys, value)

    def _without_hooks(self, text: str, keys: Sequence[str], before: str | None) -> str:
        """Each of ours out of its group, and the group with it when nothing else is in it."""
        while (found := self._first_hook(text, keys)) is not None:
            text = json_text.without(text, *found)
        node = json_text.find(text, keys)
        return _without(text, keys, before) if node is not None and not node.children else text

    def _first_hook(self, text: str, keys: Sequence[str]) -> tuple[Node, Child] | None:
        groups = json_text.find(text, keys)
        for group in groups.children if groups is not None and groups.kind == "list" else ():
            hooks = group.node.get("hooks") if group.node.kind == "object" else None
            for child in hooks.children if hooks is not None and hooks.kind == "list" else ():
                if is_hook(json_text.value_of(text, child.node), self.agent):
                    assert groups is not None
                    assert hooks is not None
                    return (groups, group) if len(hooks.children) == 1 else (hooks, child)
        return None


def table(keys: Sequence[str], value: dict[str, Any]) -> str:
    """A table of texts, lists of texts and one level more. A JSON string is a TOML string too."""
    lines = [f"[{'.'.join(keys)}]"]
    for name, given in value.items():
        if isinstance(given, dict):
            pairs = cast("dict[str, str]", given)
            inner = ", ".join(f"{key} = {json.dumps(text)}" for key, text in pairs.items())
            lines.append(f"{name} = {{ {inner} }}")
        else:
            lines.append(f"{name} = {json.dumps(given)}")
    return "\n".join(lines) + "\n"


def _without(text: str, keys: Sequence[str], before: str | None) -> str:
    """Without what is at these keys, and without what around it is empty then and was not there before."""
    for place in range(len(keys), 0, -1):
        parent = json_text.find(text, keys[: place - 1])
        node = json_text.find(text, keys[:place])
        if parent is None or node is None or (place < len(keys) and node.children):
            break
        if place < len(keys) and before and before.strip() and json_text.find(before, keys[:place]) is not None:
            break
        child = next(
            child for child in reversed(parent.children) if child.node is node or child.name == keys[place - 1]
        )
        text = json_text.without(text, parent, child)
    return text


def _groups(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]
