"""`lamp uninstall --everything`: all that Lamplighter has put on this machine for this user, shown first, then taken away.

Each part knows how it is taken away; this knows which there are and in which order. What is not ours is left alone and named.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from functools import partial
from pathlib import Path
from typing import Any

from lamplighter.agents import agent_named, names_with
from lamplighter.domain.text.plural import counted
from lamplighter.errors import Code, ConflictError, InputError, UnavailableError
from lamplighter.frontends.cli.caller_context import own_command
from lamplighter.frontends.cli.daemon_client import DaemonClient, is_running, may_have_sessions, new_key
from lamplighter.frontends.cli.display.format import clean
from lamplighter.frontends.cli.display.output import CommandOutput
from lamplighter.frontends.cli.exit_status import DECLINED
from lamplighter.frontends.cli.installer import agent_config, completion_script, systemd_unit
from lamplighter.frontends.cli.installer.installation import Installation
from lamplighter.frontends.cli.installer.operator_check import check_operator
from lamplighter.frontends.cli.parser.arguments import Arguments
from lamplighter.holder.boot import living_keeper
from lamplighter.home import Home, find_home
from lamplighter.slices import every_slice

OURS = frozenset(
    {
        *("sessions", "run", "installed", "snapshots", "lost", "config.toml", "start.lock"),
        *(f"{role}.{what}" for role in ("daemon", "keeper") for what in ("json", "lock", "log", "pid")),
    }
)
"""What stands at the top of the state folder; and all whose name begins with the database's."""
_DATABASE = "lamplighter.db"
_STAMP = "lamplighter-stamp"
_GONE_SECONDS = 60.0


def uninstall_everything(arguments: Arguments, output: CommandOutput) -> int:
    """0; 3 when a part could not be taken away, 9 when the answer was no."""
    dry, home = bool(arguments.options.get("dry_run")), find_home()
    if not dry:
        check_operator()
    alive = _alive(home)
    parts = _Parts(home)
    shown = parts.shown(alive)
    if dry or not (arguments.options.get("yes") or _agreed(shown, output)):
        _tell(output, shown, applied=False, left=parts.left())
        return 0 if dry else DECLINED
    if alive and not arguments.options.get("end_sessions"):
        raise ConflictError(
            Code.ACTIVE,
            f"{counted(alive, 'session')} {'runs' if alive == 1 else 'run'}, and nothing was taken away",
            "end them with lamp down --all, or add --end-sessions",
        )
    _stop(home)
    failed = parts.take_away()
    _tell(output, shown, applied=True, left=[*failed, *parts.left()])
    return 3 if failed else 0


class _Parts:
    def __init__(self, home: Home) -> None:
        self.home = home
        self.options: list[dict[str, Any]] = [{"target": agent} for agent in names_with("setup")]
        self.options += _projects(home)

    def plans(self, *, dry: bool) -> list[Any]:
        """Each made when it is its turn: one install or uninstall of agents at a time holds the ledger."""
        makes: list[Any] = [partial(agent_config.uninstall, {**one, "dry_run": dry}) for one in self.options]
        return [*makes, lambda: systemd_unit.uninstall({}), lambda: completion_script.uninstall({})]

    def shown(self, alive: int) -> list[str]:
        lines = [f"end    {counted(alive, 'session')}, and stop the daemon"] if alive else []
        lines += ["stop   the daemon"] if not alive and is_running(self.home) else []
        for make in self.plans(dry=True):
            plan: Installation = make()
            lines += [f"change {step.path}" if step.act == "write" else f"remove {step.path}" for step in plan.steps]
        return [*lines, *(f"delete {path}" for path in (*self._files(), *self._links()))]

    def take_away(self) -> list[str]:
        """What could not be."""
        failed: list[str] = []
        for make in self.plans(dry=False):
            plan: Installation = make()
            failed += [f"{' '.join(fault['command'])}: {fault['said']}" for fault in plan.do()]
        for path in (*self._files(), *self._links()):
            try:
                shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
            except FileNotFoundError:
                continue
            except OSError as error:
                failed.append(f"{path}: {error.strerror or error}")
        for folder in self._folders():
            with contextlib.suppress(OSError):
                os.rmdir(folder)  # not when something else is in it
        return failed

    def left(self) -> list[str]:
        """What is in our folders and is not ours."""
        inside = [f"{folder}/{name}" for folder in self._folders() for name in _names(folder)]
        known = set(self._files())
        return [f"{path} is not ours, and is left alone" for path in inside if path not in known]

    def _folders(self) -> list[str]:
        config = os.path.dirname(self.home.config)
        return list(dict.fromkeys((self.home.run, self.home.state, config)))

    def _files(self) -> list[str]:
        """By their names, never a folder as a whole: somebody may have set it to one that is full of other things."""
        state = [f"{self.home.state}/{name}" for name in _names(self.home.state) if _is_ours(name)]
        run = [self.home.run] if os.path.isdir(self.home.run) and _is_own_run(self.home) else []
        config = [self.home.config] if os.path.isfile(self.home.config) else []
        return list(dict.fromkeys((*state, *run, *config)))

    def _links(self) -> list[str]:
        """What ./run has put on the PATH; a link of pipx or uv goes with their own uninstall."""
        program = Path(own_command()[0]).resolve()
        if not (program.parent.parent / _STAMP).exists():
            return []
        user = Path(os.path.expanduser("~"))
        shared = [Path("/usr/local/bin")] if "/usr/local/bin" in os.environ.get("PATH", "").split(os.pathsep) else []
        places = [folder / "lamp" for folder in (user / ".local/bin", user / "bin", *shared)]
        return [str(place) for place in places if place.is_symlink() and place.resolve() == program]


def _is_ours(name: str) -> bool:
    of_slices = (mine for each in every_slice().values() for mine in each.state)
    return name in OURS or name.startswith(_DATABASE) or name in of_slices


def _is_own_run(home: Home) -> bool:
    """A folder of that name alone, and ours."""
    return os.path.basename(home.run) in ("run", "lamplighter") and os.stat(home.run).st_uid == os.getuid()


def _names(folder: str) -> list[str]:
    try:
        found = os.lstat(folder)
        return sorted(os.listdir(folder)) if found.st_uid == os.getuid() else []
    except OSError:
        return []


def _projects(home: Home) -> list[dict[str, Any]]:
    """Where agents were set up for one project alone, by what is on record."""
    found: dict[tuple[str, str], None] = {}
    for path in sorted(Path(home.state, "installed").glob("*.json")):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            kept = json.loads(path.read_text(encoding="utf-8"))
            agent, file = str(kept["agent"]), str(kept["path"])
            folder = agent_config.project_of(agent, file) if agent_named(agent).setup else None
            if folder is not None:
                found[agent, folder] = None
    return [{"target": agent, "project": True, "folder": folder} for agent, folder in found]


def _alive(home: Home) -> int:
    if not is_running(home) and not may_have_sessions(home):
        return 0
    return int(DaemonClient(home).call("get_status", {})["alive"])


def _agreed(shown: list[str], output: CommandOutput) -> bool:
    if not output.can_ask():
        raise InputError(
            Code.BAD_INPUT,
            "uninstall --everything takes all of Lamplighter away, and there is no terminal to ask on",
            "--dry-run shows what it would take away; add --yes if that is meant",
        )
    for line in shown:
        output.note(clean(line))
    return output.ask("Take all of this away? What sessions knew is lost with it. [y/N] ") in ("y", "yes")


def _stop(home: Home) -> None:
    """Daemon and keeper; with the sessions, which were agreed to."""
    if is_running(home) or may_have_sessions(home):
        went = DaemonClient(home).call("stop_daemon", {"all": True}, new_key())
        rows: list[dict[str, Any]] = went["ended"]
        bad = [row for row in rows if row.get("error") or (row["certificate"] and row["certificate"]["survivors"])]
        if bad:
            raise UnavailableError(
                Code.SURVIVORS,
                f"{counted(len(bad), 'session')} could not be ended, and nothing was taken away",
                "lamp show says what is left of each",
            )
    until = time.monotonic() + _GONE_SECONDS
    while time.monotonic() < until:
        keeper = living_keeper(home.run, home.state)
        if keeper is None and not is_running(home):
            return
        if keeper is not None:
            keeper.close()
        time.sleep(0.05)
    raise UnavailableError(
        Code.HOLDER_UNREACHABLE, "the daemon or the keeper does not stop, and nothing was taken away", "lamp doctor"
    )


def _tell(output: CommandOutput, shown: list[str], *, applied: bool, left: list[str]) -> None:
    if output.as_json:
        output.document({"applied": applied, "steps": shown, "left": left})
        return
    for line in shown:
        output.out.write(f"{'' if applied else 'would '}{clean(line)}\n")
    if not shown:
        output.out.write("nothing of Lamplighter is here\n")
    for line in left if applied else []:
        output.note(clean(line))
    if applied:
        output.out.write("the program itself goes with its clone, pipx uninstall lamplighter, or uv tool uninstall\n")
    output.out.flush()
