"""`lamp install AGENT`: our MCP server and our hooks in an agent's own configuration; `lamp uninstall AGENT`: it as it was.

All of an agent's files are read and their new texts made before the first is written, so what cannot be done changes nothing.
What each agent has where is in its module (`agents/`); how a text is changed, `config_text` knows.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Callable
from dataclasses import field
from itertools import groupby
from typing import Any

from lamplighter.agents import agent_named
from lamplighter.agents.formats.setup import ConfigEntry, McpServer, Setup, Site
from lamplighter.errors import Code, InputError, UnavailableError
from lamplighter.frontends.cli.caller_context import own_command
from lamplighter.frontends.cli.installer import ledger
from lamplighter.frontends.cli.installer.config_text import ConfigText, Piece
from lamplighter.frontends.cli.installer.installation import Installation, difference
from lamplighter.frontends.cli.installer.ledger import Ledger, LedgerFile, checksum
from lamplighter.frontends.cli.installer.operator_check import check_operator
from lamplighter.frontends.cli.installer.own_file import FileChange
from lamplighter.frontends.cli.installer.toml_text import table
from lamplighter.home import find_home
from lamplighter.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Change:
    """A file that becomes `after`; None: that it is gone. `kept` is what is written down first; None: what was kept is over."""

    path: str
    current: bytes | None
    after: bytes | None
    kept: LedgerFile | None = None
    before: bytes | None = None
    folders: tuple[str, ...] = ()


@dataclass
class AgentInstallation(Installation):
    """Steps with files that are somebody else's: kept as they were, and changed only as far as shown."""

    ledger: Ledger = field(default_factory=lambda: Ledger(f"{find_home().state}/installed"))
    changes: list[Change] = field(default_factory=list[Change])
    over: list[str] = field(default_factory=list[str])
    mode: int = 0o600
    lock: int | None = None  # from before the first look at a file until after the last change

    def add(self, change: Change) -> None:
        self.changes.append(change)
        text = (change.after or b"").decode("utf-8", "replace")
        self.steps.append(FileChange("remove" if change.after is None else "write", change.path, text=text))

    def document(self, dry: bool, failed: list[dict[str, Any]]) -> dict[str, Any]:
        """With differences in place of whole texts: what else is in such files is nobody's business."""
        found = super().document(dry, failed)
        changes = [{"act": step.act, "path": step.path, "diff": self.difference(step)} for step in self.steps]
        return {**found, "changes": changes}

    def difference(self, step: FileChange) -> list[str]:
        change = next(change for change in self.changes if change.path == step.path)
        before = None if change.current is None else change.current.decode("utf-8", "replace")
        return difference(before, (change.after or b"").decode("utf-8", "replace"))

    def do(self) -> list[dict[str, Any]]:
        try:
            for change in self.changes:
                self._make(change)
            for path in self.over:
                self.ledger.forget(path)
        finally:
            self.release()
        return []

    def release(self) -> None:
        if self.lock is not None:
            os.close(self.lock)
            self.lock = None

    def _make(self, change: Change) -> None:
        if ledger.read(change.path) != change.current:
            raise UnavailableError(
                Code.STORE_BUSY,
                f"{change.path} has changed while it was looked at, by the agent itself perhaps",
                "try again; it was left as it is now",
            )
        if change.kept is not None:
            self.ledger.keep(change.kept, change.before)
        if change.after is None:
            os.unlink(os.path.realpath(change.path))
            for folder in change.folders:
                with contextlib.suppress(OSError):
                    os.rmdir(folder)  # not when something else is in it by now
        else:
            ledger.write(change.path, change.after, self.mode)
        if change.kept is None:
            self.ledger.forget(change.path)


def install(options: dict[str, Any]) -> Installation:
    return _planned(options, _install)


def uninstall(options: dict[str, Any]) -> Installation:
    return _planned(options, _uninstall)


def _planned(
    options: dict[str, Any], make: Callable[[AgentInstallation, list[tuple[str, ConfigText]]], None]
) -> Installation:
    plan, texts = _begin(options)
    try:
        make(plan, texts)
    except BaseException:
        plan.release()
        raise
    return plan


def _install(plan: AgentInstallation, texts: list[tuple[str, ConfigText]]) -> None:
    for path, text in texts:
        current = _read(path)
        known = (current or b"").decode()
        if current is not None and _tried(path, text.is_complete, known):
            continue
        clean = _clean(plan.ledger, path, text, current)
        put, pieces = _tried(path, text.put_in, (clean or b"").decode())
        after = put.encode()
        earlier = plan.ledger.find(path)
        folders = earlier.folders if earlier is not None else ledger.missing_folders(path)
        kept = LedgerFile(plan.target, path, checksum(after), clean is not None, folders, [list(one) for one in pieces])
        plan.add(Change(path, current, after, kept, clean))
        if clean is not None:
            plan.notes.append(f"as it was: {plan.ledger.backup_of(path)}")
    note = setup_of(plan.target).note
    plan.notes += [note] if note else []


def _uninstall(plan: AgentInstallation, texts: list[tuple[str, ConfigText]]) -> None:
    for path, text in texts:
        current, kept = _read(path), plan.ledger.find(path)
        before = plan.ledger.before(kept) if kept else None
        if current is None:
            plan.over.append(path)
        elif kept is not None and checksum(current) == kept.after:
            plan.add(Change(path, current, before, folders=tuple(kept.folders)))
        else:
            rest = _rest(path, text, current, before, kept)
            gone = not rest.strip() or rest.split() == ["{}"]
            after = None if gone and (kept is not None and not kept.existed) else rest.encode()
            if after != current:
                plan.add(Change(path, current, after, folders=tuple(kept.folders) if kept else ()))
            else:
                plan.over.append(path)


def _begin(options: dict[str, Any]) -> tuple[AgentInstallation, list[tuple[str, ConfigText]]]:
    agent, dry = str(options["target"]), bool(options.get("dry_run"))
    plan = AgentInstallation(agent, mode=0o644 if options.get("project") else 0o600)
    if not dry:
        check_operator()
        plan.lock = plan.ledger.lock()
    site = site_of((options.get("folder") or os.getcwd()) if options.get("project") else None)
    return plan, [(path, ConfigText(agent, path, found)) for path, found in _entries(agent, site)]


def project_of(agent: str, file: str) -> str | None:
    """The folder of the project in which an install of this agent has this file; None for one that is for all of them."""
    folder = os.path.dirname(file)
    while folder not in ("", os.sep):
        if any(os.path.realpath(path) == os.path.realpath(file) for path, _ in _entries(agent, site_of(folder))):
            return folder
        folder = os.path.dirname(folder)
    return None


def _entries(agent: str, site: Site) -> list[tuple[str, list[ConfigEntry]]]:
    """By file, in the order in which they are written."""
    setup = setup_of(agent)
    entries = [*server_entries(setup, site), *setup.hooks(site)]
    return [(path, list(found)) for path, found in groupby(entries, key=lambda entry: entry.file)]


def _clean(kept_in: Ledger, path: str, text: ConfigText, current: bytes | None) -> bytes | None:
    """The file without what an earlier install has put there. Where none is on record, a server that is called like ours is the
    user's own: pasted from what `lamp mcp --print-config` prints."""
    kept = kept_in.find(path)
    if kept is not None and current is not None and checksum(current) == kept.after:
        return kept_in.before(kept)
    if current is None:
        return None
    before = kept_in.before(kept) if kept is not None else current
    return _rest(path, text, current, before, kept).encode()


def _rest(path: str, text: ConfigText, current: bytes, before: bytes | None, kept: LedgerFile | None) -> str:
    """The file without what is ours, when somebody has changed it since."""
    pieces = [Piece(*one) for one in kept.pieces] if kept is not None else []
    return _tried(path, text.take_out, current.decode(), before.decode() if before is not None else None, pieces)


def _read(path: str) -> bytes | None:
    """The file, when it is one that may be changed."""
    try:
        found = ledger.read(path)
        if found is not None:
            found.decode()
    except (OSError, ValueError) as error:
        why = "it is not in UTF-8" if isinstance(error, UnicodeDecodeError) else error
        raise _refused(path, str(why)) from None
    # Root may write what nobody may: who made a file read-only has meant that.
    if found is not None and not (os.stat(path).st_mode & stat.S_IWUSR and os.access(path, os.W_OK)):
        raise _refused(path, "it is read-only")
    return found


def _tried(path: str, do: Any, *given: Any) -> Any:
    try:
        return do(*given)
    except ValueError as error:
        raise _refused(path, str(error)) from None


def _refused(path: str, why: str) -> InputError:
    return InputError(
        Code.BAD_INPUT, f"{path} cannot be changed: {why}", "mend it, then try again; nothing was changed"
    )


# -- what stands in a configuration


def setup_of(agent: str) -> Setup:
    found = agent_named(agent).setup
    assert found is not None, "the command line takes no other"
    return found


def site_of(project: str | None) -> Site:
    """For the user, or in one project's folder."""
    return Site(
        home=os.path.expanduser("~"),
        project=project,
        environment=os.environ,
        command=tuple(own_command()),
        variables={name: os.environ[name] for name in ("LAMPLIGHTER_HOME",) if os.environ.get(name)},
    )


def server_entries(setup: Setup, site: Site) -> list[ConfigEntry]:
    servers, file = _servers(setup, site, "core"), setup.file(site)
    return [ConfigEntry(file, (top, name), value) for top, named in servers.items() for name, value in named.items()]


def pasted(setup: Setup, tools: str) -> str:
    """What a person puts there."""
    site = site_of(None)
    servers = _servers(setup, site, tools)
    if setup.file(site).endswith(".toml"):
        return "".join(table((top, name), value) for top, named in servers.items() for name, value in named.items())
    return json.dumps(servers, indent=2) + "\n"


def _servers(setup: Setup, site: Site, tools: str) -> dict[str, dict[str, Any]]:
    """With the way to this very lamp in it, since agents often have another PATH."""
    command, *words = site.command
    name, options = ("lamplighter", []) if tools == "core" else (f"lamplighter-{tools}", ["--tools", tools])
    return setup.servers(McpServer(name, command, [*words, "mcp", *options], site.variables))
