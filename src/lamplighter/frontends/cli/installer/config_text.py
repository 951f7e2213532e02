"""Entries of ours in the text of an agent's configuration: put in, seen to be there, taken out again. JSON and TOML.

Knows which of what is there is ours; knows nothing of files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from lamplighter.agents.formats.setup import ConfigEntry, is_hook
from lamplighter.frontends.cli.installer import json_text, toml_text
from lamplighter.frontends.cli.installer.json_text import Child, Node

_BOM = "\ufeff"


class ConfigText:
    """One file's entries, for one agent."""

    def __init__(self, agent: str, path: str, entries: Sequence[ConfigEntry]) -> None:
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
        if not _says(text):
            return False
        return all(self._is_there(text, entry) for entry in self.entries)

    def put_in(self, text: str) -> tuple[str, list[Piece]]:
        """The text with all of it, and what each entry changed."""
        if self.whole is not None:
            return str(self.whole.value), []
        pieces = list[Piece]()
        for entry in self.entries:
            changed = self._with_entry(text, entry)
            pieces.append(changed_piece(text, changed))
            text = changed
        return text, pieces

    def _with_entry(self, text: str, entry: ConfigEntry) -> str:
        if self.toml:
            text = toml_text.with_table(text, entry.keys, toml_text.table(entry.keys, entry.value))
            toml_text.parse(text)
            return text
        put = json_text.with_item if entry.item else json_text.with_value
        return put(
            text if _says(text) else f"{text[:1] if text.startswith(_BOM) else ''}{{}}\n", entry.keys, entry.value
        )

    def take_out(self, text: str, before: str | None, pieces: Sequence[Piece] = ()) -> str:
        """The text without what is ours, and with what the file had in its place before. What still stands as it was put in, by
        its piece, leaves no byte different; else what is ours is found by what it says."""
        if self.whole is not None:
            return before or ""
        known = pieces if len(pieces) == len(self.entries) else [None] * len(self.entries)
        for entry, put in reversed([*zip(self.entries, known, strict=True)]):
            rest = self._without_toml(text, entry, before) if self.toml else self._without_json(text, entry, before)
            exact = put.taken_back(text, lines=self.toml) if put is not None else None
            text = exact if exact is not None and self._say_the_same(exact, rest) else rest
        return text

    def _say_the_same(self, text: str, other: str) -> bool:
        try:
            return self._meaning(text) == self._meaning(other)
        except ValueError:
            return False

    def _meaning(self, text: str) -> Any:
        if self.toml:
            return toml_text.parse(text)
        return json_text.value_of(text, json_text.parse(text)) if _says(text) else {}

    # -- TOML

    def _without_toml(self, text: str, entry: ConfigEntry, before: str | None) -> str:
        found = toml_text.value_at(text, entry.keys)
        known = toml_text.value_at(before, entry.keys) if before else None
        if found is None or found == known:
            return text
        if before is None or known is None:
            return toml_text.without_table(text, entry.keys)
        return toml_text.with_text(text, entry.keys, toml_text.text_of(before, entry.keys))

    # -- JSON

    def _is_there(self, text: str, entry: ConfigEntry) -> bool:
        node = json_text.find(text, entry.keys)
        if node is None:
            return False
        value = json_text.value_of(text, node)
        if not entry.item:
            return value == entry.value
        ours = [hook for group in _groups(value) for hook in _groups(group.get("hooks")) if is_hook(hook, self.agent)]
        return ours == entry.value["hooks"]

    def _without_json(self, text: str, entry: ConfigEntry, before: str | None) -> str:
        if not _says(text):
            return text
        if entry.item:
            return self._without_hooks(text, entry.keys, before)
        if json_text.find(text, entry.keys) is None:
            return text
        known = json_text.find(before, entry.keys) if before and _says(before) else None
        if known is not None and before is not None:
            return self._put_back(text, entry.keys, json_text.value_of(before, known))
        return _without(text, entry.keys, before)

    def _put_back(self, text: str, keys: Sequence[str], value: Any) -> str:
        node = json_text.find(text, keys)
        same = node is not None and json_text.value_of(text, node) == value
        return text if same else json_text.with_value(text, keys, value)

    def _without_hooks(self, text: str, keys: Sequence[str], before: str | None) -> str:
        """Each of ours out of its group, and the group with it when nothing else is in it. A list that was empty stays."""
        rest = text
        while (found := self._first_hook(rest, keys)) is not None:
            rest = json_text.without(rest, *found)
        node = json_text.find(rest, keys)
        emptied = rest != text and node is not None and not node.children
        return _without(rest, keys, before) if emptied else rest

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


def _without(text: str, keys: Sequence[str], before: str | None) -> str:
    """Without what is at these keys, and without what around it is empty then and was not there before."""
    for place in range(len(keys), 0, -1):
        parent = json_text.find(text, keys[: place - 1])
        node = json_text.find(text, keys[:place])
        if parent is None or node is None or (place < len(keys) and node.children):
            break
        if before and _says(before) and json_text.find(before, keys[:place]) is not None:
            break
        child = next(
            child for child in reversed(parent.children) if child.node is node or child.name == keys[place - 1]
        )
        text = json_text.without(text, parent, child)
    return text


def _says(text: str) -> bool:
    """Whether there is anything in it; a mark of the byte order is nothing."""
    return bool(text.removeprefix(_BOM).strip())


def _groups(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]


class Piece(NamedTuple):
    """What an install changed in a text: `was` stood where `now` stands since. It can be taken back to the byte while nobody has
    touched it."""

    was: str
    now: str

    def taken_back(self, text: str, *, lines: bool) -> str | None:
        """The text with this as it was; None when it is not there any more, or twice. `lines`: a line means what it does only for
        itself, so what came behind it begins a line of its own."""
        if not self.now or text.count(self.now) != 1:
            return None
        head, _, tail = text.partition(self.now)
        head += self.was
        if lines and self.now.endswith("\n") and tail and head and not head.endswith("\n") and tail[0] not in "\r\n":
            head += "\r\n" if self.now.endswith("\r\n") else "\n"
        return head + tail


def changed_piece(before: str, after: str) -> Piece:
    """The one place in which two texts differ."""
    head = toml_text.common_prefix(before, after)
    most = min(len(before), len(after)) - head
    tail = toml_text.common_prefix(before[::-1][:most], after[::-1][:most])
    return Piece(before[head : len(before) - tail], after[head : len(after) - tail])
