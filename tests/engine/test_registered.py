"""Agents that Lamplighter did not start: sessions from their first word on, known by their processes, and ended with all of them."""

from __future__ import annotations

import os
import shlex
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lamplighter.errors import LampError
from lamplighter.testing.engine import Engine
from lamplighter.testing.outsider import Outsider, answered, asking, in_a_shell, outsider
from lamplighter.testing.processes import inspect, wait_until

GOLDEN = Path(__file__).parents[1] / "golden"
ONE, TWO = "11111111-2222-4333-8444-555555555555", "22222222-2222-4333-8444-555555555555"


def registered(lit: Engine) -> dict[str, dict[str, Any]]:
    """Living sessions of the kind, by id."""
    return {one["id"]: one for one in lit.call("list_sessions")["sessions"] if one["driver"] == "registered"}


def own(agent: Outsider) -> str:
    """The id of the session that the agent is."""
    kind, _, session = agent.caller().partition(":")
    assert kind == "session"
    return session


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises(LampError) as caught:
        call()
    assert caught.value.hint
    return caught.value.code.value


def sleeper(mark: str) -> str:
    return f"bash -c 'exec -a {mark} sleep 300'"


# -- who it is


def test_it_becomes_a_session_when_it_first_speaks(lit: Engine, tmp_path: Path) -> None:
    with outsider(lit, tmp_path, environment={"HOME": str(tmp_path)}) as agent:
        assert registered(lit) == {}, "looking registers nobody"
        session = own(agent)
        assert own(agent) == session
        shown = lit.show(session)
        assert (shown["name"], shown["agent"], shown["driver"], shown["kind"]) == (
            "claude",
            "claude",
            "registered",
            "task",
        )
        assert (shown["owner"], shown["parent"], shown["guarantee"]) == ("operator", None, "best_effort")
        assert (shown["pid"], shown["cwd"], shown["state"]) == (agent.process.pid, str(tmp_path), "running")
        assert shown["command"] == [str(agent.program)]
        assert shown["started_at"] <= shown["created_at"]
        listed = lit.cli("ls").stdout
        assert "registered" in listed
        assert [event["action"] for event in lit.events(session)] == ["register"]
        assert lit.call("wait_session", session=session, until="idle", quiet="0.1s", timeout="30s")["met"] == "idle"


def test_many_that_speak_at_once_are_one_session(lit: Engine, tmp_path: Path) -> None:
    with outsider(lit, tmp_path) as agent:
        asked = [asking(lit, "get_status") for _ in range(12)]
        agent.tell("".join(f"{words} & " for words, _ in asked))
        callers = {answered(file)["result"]["caller"] for _, file in asked}
        assert callers == {f"session:{session}" for session in registered(lit)}
        assert len(callers) == 1


def test_a_launcher_and_what_it_launches_are_one(lit: Engine, tmp_path: Path) -> None:
    """As Codex and Gemini are: the program is the child of a launcher of the same name. Either may die first."""
    with outsider(lit, tmp_path) as agent:
        words, file = asking(lit, "get_status")
        again, second = asking(lit, "get_status")
        go = tmp_path / "go"
        os.mkfifo(go)
        agent.tell(f"{agent.program} -c {shlex.quote(f'{words}; read x < {go}; {again}; read x < {go}; true')}")
        caller = answered(file)["result"]["caller"]
        assert [f"session:{session}" for session in registered(lit)] == [caller]
        session = caller.partition(":")[2]
        assert lit.show(session)["pid"] == agent.process.pid
        agent.kill()
        go.write_text("\n")
        assert answered(second)["result"]["caller"] == caller, "the launcher alone is gone"
        assert lit.show(session)["state"] == "running"
        go.write_text("\n")
        assert lit.call("wait_session", session=session, until="ended", timeout="30s")["state"] == "ended"


def test_an_agent_that_another_started_is_that_ones(lit: Engine, tmp_path: Path) -> None:
    """In a shell of a tool: the nearest one speaks, and the outer one may end it, but not the other way round."""
    with outsider(lit, tmp_path) as outer:
        inner = tmp_path / "bin" / "codex"
        shutil.copy("/bin/sh", inner)
        words, file = asking(lit, "get_status")
        outer.tell(in_a_shell(f"{inner} -c {shlex.quote(f'{words}; exec -a codex sleep 300')}") + " &")
        nested = answered(file)["result"]["caller"].partition(":")[2]
        session = own(outer)
        assert set(registered(lit)) == {nested, session}
        shown = lit.show(nested)
        assert (shown["agent"], shown["parent"], shown["owner"]) == ("codex", session, f"session:{session}")
        ended = outer.ask("kill_session", session=nested, force=True, grace="0s")["result"]
        assert ended["state"] == "ended"
        assert lit.show(session)["state"] == "running"


def test_a_child_without_an_environment_is_known_by_its_ancestors(lit: Engine, tmp_path: Path) -> None:
    with outsider(lit, tmp_path) as agent:
        words, file = asking(lit, "get_status", "scrubbed")
        agent.tell(words)
        assert answered(file)["result"]["caller"] in {f"session:{session}" for session in registered(lit)}


def test_what_was_seen_below_it_stays_its_own(lit: Engine, tmp_path: Path) -> None:
    """A job in a session of its own, with no environment, whose parent goes away after a look: still the agent, and ended with it."""
    with outsider(lit, tmp_path) as agent:
        session, job = own(agent), Stray(lit, tmp_path, "get_status")
        agent.tell(job.script)
        assert job.is_seen(session)
        job.lose_its_parent()
        assert job.ask()["result"]["caller"] == f"session:{session}"
        assert job.pid in {process["pid"] for process in lit.show(session)["tree"]}
        lit.kill(lit.daemon())
        ended = lit.call("kill_session", session=session, force=True, grace="0s")
        assert ended["state"] == "ended"
        assert job.pid in {process["pid"] for process in ended["certificate"]["processes"]}
        assert inspect(job.pid) is None


class Stray:
    """A process that asks something when it is told to, and whose parent leaves when it is told to; with an empty environment."""

    def __init__(self, lit: Engine, folder: Path, operation: str, **arguments: Any) -> None:
        self.lit = lit
        words, self.answer = asking(lit, operation, **arguments)
        self.born, self.go, self.leave = (folder / f"{name}-{uuid.uuid4().hex}" for name in ("born", "go", "leave"))
        os.mkfifo(self.go)
        os.mkfifo(self.leave)
        job = f"echo $$ > {self.born}; read x < {self.go}; {words}; exec sleep 300"
        between = f"setsid env -i /bin/sh -c {shlex.quote(job)} & read x < {self.leave}"
        self.script = f"/bin/sh -c {shlex.quote(between)}"

    @property
    def pid(self) -> int:
        return int(self.born.read_text())

    def is_seen(self, session: str) -> bool:
        """Whether a look has."""

        def look() -> bool:
            tree = self.lit.show(session)["tree"]
            born = self.born.exists() and self.born.read_text().endswith("\n")
            return born and self.pid in {process["pid"] for process in tree}

        return wait_until(look, 20)

    def lose_its_parent(self) -> None:
        stat = Path(f"/proc/{self.pid}/stat")
        before = stat.read_text().rpartition(")")[2].split()[1]
        self.leave.write_text("\n")
        assert wait_until(lambda: stat.read_text().rpartition(")")[2].split()[1] != before, 20)

    def ask(self) -> dict[str, Any]:
        self.go.write_text("\n")
        return answered(self.answer)


def test_inside_a_session_of_ours_it_is_that_session(both: Engine, tmp_path: Path) -> None:
    program = tmp_path / "claude"
    shutil.copy("/bin/sh", program)
    words, file = asking(both, "get_status")
    inside = both.start(str(program), "-c", f"{words}; exec sleep 300")["id"]
    assert answered(file)["result"]["caller"] == f"session:{inside}"
    assert registered(both) == {}
