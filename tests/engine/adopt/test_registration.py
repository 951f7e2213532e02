"""Agents that Lamplighter did not start: sessions from their first word on, known and ended by their processes."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from lamplighter.errors import Code, LampError
from lamplighter.holder import proc
from tests.support import mcp_agent
from tests.support.engine import Engine, engine
from tests.support.mcp_client import bridge_command, connected
from tests.support.outsider import Outsider, answered, asking, in_a_shell, outsider
from tests.support.places import GOLDEN
from tests.support.processes import inspect, marked, none_left, wait_until

ONE, TWO = "11111111-2222-4333-8444-555555555555", "22222222-2222-4333-8444-555555555555"


@pytest.fixture(scope="module")
def lit() -> Iterator[Engine]:
    """One for all of them: what one leaves is in the way of the next, as on a machine that is used."""
    with engine() as made:
        yield made


def registered(lit: Engine, *agents: Outsider) -> set[str]:
    """The ids of living sessions that these agents are."""
    pids = {agent.process.pid for agent in agents}
    found = lit.call("list_sessions")["sessions"]
    return {one["id"] for one in found if one["driver"] == "registered" and one["pid"] in pids}


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


def running_as(mark: str) -> int:
    """The pid of a sleeper, once it is one."""

    def found() -> list[int]:
        return [one.pid for one in marked(mark) if one.cmdline[0] == mark]

    assert wait_until(lambda: len(found()) == 1)
    return found()[0]


def sleeper(mark: str) -> str:
    return f"bash -c 'exec -a {mark} sleep 300'"


# -- who it is


def test_it_becomes_a_session_when_it_first_speaks(lit: Engine, tmp_path: Path) -> None:
    with outsider(lit, tmp_path, environment={"HOME": str(tmp_path)}) as agent:
        assert registered(lit, agent) == set(), "looking registers nobody"
        session = own(agent)
        assert own(agent) == session
        shown = lit.show(session)
        assert (shown["agent"], shown["driver"], shown["kind"]) == ("claude", "registered", "task")
        assert shown["name"] == "claude"
        assert (shown["owner"], shown["parent"], shown["guarantee"]) == ("operator", None, "best_effort")
        assert (shown["pid"], shown["cwd"], shown["state"]) == (agent.process.pid, str(tmp_path), "running")
        assert shown["command"] == [str(agent.program)]
        assert shown["started_at"] <= shown["created_at"]
        listed = lit.cli("ls").stdout
        assert "registered" in listed
        assert [event["action"] for event in lit.events(session)] == ["register"]
        assert lit.call("wait_session", session=session, until="idle", quiet="0.1s", timeout="120s")["met"] == "idle"


def test_many_that_speak_at_once_are_one_session(lit: Engine, tmp_path: Path) -> None:
    with outsider(lit, tmp_path) as agent:
        asked = [asking(lit, "get_status") for _ in range(12)]
        agent.tell("".join(f"{words} & " for words, _ in asked))
        callers = {answered(file)["result"]["caller"] for _, file in asked}
        assert callers == {f"session:{session}" for session in registered(lit, agent)}
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
        assert {f"session:{session}" for session in registered(lit, agent)} == {caller}
        session = caller.partition(":")[2]
        assert lit.show(session)["pid"] == agent.process.pid
        agent.kill()
        go.write_text("\n")
        assert answered(second)["result"]["caller"] == caller, "the launcher alone is gone"
        assert lit.show(session)["state"] == "running"
        go.write_text("\n")
        assert lit.call("wait_session", session=session, until="ended", timeout="120s")["state"] == "ended"


def test_an_agent_that_another_started_is_that_ones(lit: Engine, tmp_path: Path) -> None:
    """In a shell of a tool: the nearest one speaks, and the outer one may end it, but not the other way round."""
    with outsider(lit, tmp_path) as outer:
        inner = tmp_path / "bin" / "codex"
        shutil.copy("/bin/sh", inner)
        words, file = asking(lit, "get_status")
        outer.tell(in_a_shell(f"{inner} -c {shlex.quote(f'{words}; exec -a codex sleep 300')}") + " &")
        nested = answered(file)["result"]["caller"].partition(":")[2]
        session = own(outer)
        assert registered(lit, outer) == {session}
        shown = lit.show(nested)
        assert (shown["agent"], shown["parent"], shown["owner"]) == ("codex", session, f"session:{session}")
        ended = outer.ask("kill_session", session=nested, force=True, grace="0s")["result"]
        assert ended["state"] == "ended"
        assert lit.show(session)["state"] == "running"


def test_a_child_without_an_environment_is_known_by_its_ancestors(lit: Engine, tmp_path: Path) -> None:
    with outsider(lit, tmp_path) as agent:
        words, file = asking(lit, "get_status", "scrubbed")
        agent.tell(words)
        assert answered(file)["result"]["caller"] in {f"session:{session}" for session in registered(lit, agent)}


def test_what_was_seen_below_it_stays_its_own(lit: Engine, tmp_path: Path) -> None:
    """A job in a session of its own, with no environment, whose parent goes away after a look."""
    with outsider(lit, tmp_path) as agent:
        session, job = own(agent), Stray(lit, tmp_path, "get_status")
        agent.tell(job.script)
        assert job.is_seen(session)
        job.lose_its_parent()
        assert job.ask()["result"]["caller"] == f"session:{session}"
        assert wait_until(lambda: job.is_on_record(session))  # by a look that was after that
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

        return wait_until(look)

    def is_on_record(self, session: str) -> bool:
        """Whether it is written down as one that is on its own."""
        assert self.pid in {process["pid"] for process in self.lit.show(session)["tree"]}
        kept = json.loads((self.lit.folder / "sessions" / session / "trail.json").read_text())
        return self.pid in [pid for pid, _ in kept.get("strays", [])]

    def lose_its_parent(self) -> None:
        stat = Path(f"/proc/{self.pid}/stat")
        before = stat.read_text().rpartition(")")[2].split()[1]
        self.leave.write_text("\n")
        assert wait_until(lambda: stat.read_text().rpartition(")")[2].split()[1] != before)

    def ask(self) -> dict[str, Any]:
        self.go.write_text("\n")
        return answered(self.answer)


def test_inside_a_session_of_ours_it_is_that_session(both: Engine, tmp_path: Path) -> None:
    program = tmp_path / "claude"
    shutil.copy("/bin/sh", program)
    words, file = asking(both, "get_status")
    inside = both.start(str(program), "-c", f"{words}; exec sleep 300")["id"]
    assert answered(file)["result"]["caller"] == f"session:{inside}"
    assert [one["id"] for one in both.call("list_sessions")["sessions"]] == [inside]
    both.call("kill_session", session=inside, force=True, grace="0s")


# -- what it may


def test_it_ends_itself_and_what_it_started_and_no_more(lit: Engine, tmp_path: Path) -> None:
    theirs = lit.start("cat", name=f"theirs-{uuid.uuid4().hex}")["id"]
    with outsider(lit, tmp_path) as agent, outsider(lit, tmp_path, "codex") as other:
        session, neighbour = own(agent), own(other)
        given = {"command": ["cat"], "cwd": "/", "environment": {"PATH": os.environ["PATH"]}}
        child = agent.ask("start_session", name="child", **given)["result"]
        assert (child["parent"], lit.show("child")["owner"]) == (session, f"session:{session}")
        for beyond in (theirs, neighbour):
            refused = agent.ask("kill_session", session=beyond, force=True)
            assert refused["error"]["code"] == "APPROVAL_NEEDED"
        assert other.ask("kill_session", session="child", force=True)["error"]["code"] == "APPROVAL_NEEDED"
        for operation, arguments in (("stop_daemon", {"all": True}), ("adopt_session", {"target": "1"})):
            assert agent.ask(operation, **arguments)["error"]["code"] == "FORBIDDEN"
        assert agent.ask("kill_session", session="child", force=True, grace="0s")["result"]["state"] == "ended"
        answer = agent.ask("end_session", session=session, reason="done", checkpoint="half of it", grace="5s")
        assert answer["result"]["state"] == "ending"
        assert lit.call("wait_session", session=session, until="ended", timeout="120s")["state"] == "ended"
        agent.process.wait(200)
        ending = lit.show(session)["ending"]
        assert (ending["by"], ending["reason"]) == (f"session:{session}", "done")
        assert lit.show(session)["handoff"]["source"] != "inferred"
        assert lit.show(neighbour)["state"] == lit.show(theirs)["state"] == "running"
        lit.call("kill_session", session=theirs, force=True, grace="0s")


def test_its_terminal_is_not_ours(lit: Engine, tmp_path: Path) -> None:
    with outsider(lit, tmp_path) as agent:
        session = own(agent)
        for operation, arguments in (
            ("send_input", {"text": "hello"}),
            ("read_output", {}),
            ("read_output", {"mode": "output"}),
            ("attach_session", {}),
            ("wait_session", {"until": "text=x"}),
        ):
            assert code_of(lambda: lit.call(operation, session=session, **arguments)) == "NOT_ATTACHABLE", operation  # noqa: B023
        agent.kill()
        assert lit.call("wait_session", session=session, until="ended", timeout="120s")["state"] == "ended"
        assert code_of(lambda: lit.call("read_output", session=session)) == "ENDED"


# -- its end


def transcript(home: Path, cwd: Path, conversation: str, case: str = "killed") -> Path:
    """A conversation where Claude Code keeps it."""
    folder = home / ".claude" / "projects" / "".join(c if c.isalnum() else "-" for c in str(cwd))
    folder.mkdir(parents=True, exist_ok=True)
    said = (GOLDEN / "claude" / case / "transcript.jsonl").read_text()
    path = folder / f"{conversation}.jsonl"
    path.write_text(said.replace("/w/shop", str(cwd)))
    return path


def test_killed_by_somebody_it_leaves_an_inferred_hand_off(lit: Engine, tmp_path: Path) -> None:
    """Its own conversation among others in the same folder: it says to its children which one it is in. Seen by the daemon that
    comes after the one that met it, and recorded once."""
    with outsider(lit, tmp_path, environment={"HOME": str(tmp_path)}) as agent:
        path = transcript(tmp_path, tmp_path, ONE)
        transcript(tmp_path, tmp_path, TWO, "finished")
        agent.tell(f"export CLAUDE_CODE_SESSION_ID={ONE}")
        session = own(agent)
        lit.kill(lit.daemon())
        lit.call("get_status")
        assert own(agent) == session, "found again by pid and start time"
        lit.kill(lit.daemon())
        agent.kill()
        assert lit.call("wait_session", session=session, until="ended", timeout="120s")["state"] == "ended"
        shown = lit.show(session)
        assert (shown["ending"]["how"], shown["ending"]["by"]) == ("exited", "itself")
        assert shown["handoff"]["source"] == "inferred"
        assert shown["handoff"]["transcript_path"] == str(path)
        assert [event["action"] for event in lit.events(session)].count("ended") == 1


def test_its_end_is_seen_at_once(lit: Engine, tmp_path: Path) -> None:
    with outsider(lit, tmp_path) as agent:
        session = own(agent)
        with lit.connect() as sock:
            request = {"id": 1, "op": "wait_session", "args": {"session": session, "until": "ended", "timeout": "30s"}}
            sock.sendall(json.dumps(request).encode() + b"\n")
            agent.leave()
            assert json.loads(sock.makefile().readline())["result"]["state"] == "ended"
        assert own_of_another(lit, tmp_path) != session


def own_of_another(lit: Engine, folder: Path) -> str:
    with outsider(lit, folder) as agent:
        return own(agent)


def test_a_kill_leaves_nobody(lit: Engine, tmp_path: Path, mark: str) -> None:
    """What only ignores TERM, what has a session of its own, and what was never seen and says in its environment whose it is."""
    job = sleeper(mark)
    with outsider(lit, tmp_path) as agent, outsider(lit, tmp_path) as other:
        agent.tell(f"export CLAUDE_CODE_SESSION_ID={ONE}")
        session, neighbour = own(agent), own(other)
        agent.tell(f"trap '' TERM; {job} & setsid {job} & (setsid {job} &) ; {in_a_shell(f'{job} & {job}')} &")
        assert wait_until(lambda: len(marked(mark)) == 6)
        ended = lit.call("kill_session", session=session, force=True, grace="0.1s")
        assert (ended["state"], ended["certificate"]["guarantee"]) == ("ended", "best_effort")
        assert ended["certificate"]["survivors"] == []
        assert none_left(mark)
        agent.process.wait(200)
        assert lit.show(neighbour)["state"] == "running"
        assert other.process.poll() is None


def test_an_end_goes_on_where_a_daemon_was_killed(lit: Engine, tmp_path: Path, mark: str) -> None:
    with outsider(lit, tmp_path) as agent:
        session = own(agent)
        agent.tell(f"trap '' TERM; setsid {sleeper(mark)} &")
        assert wait_until(lambda: marked(mark))
        with lit.connect() as sock:
            request = {
                "id": 1,
                "op": "end_session",
                "args": {"session": session, "grace": "1s"},
                "key": uuid.uuid4().hex,
            }
            sock.sendall(json.dumps(request).encode() + b"\n")
            assert wait_until(lambda: lit.show(session)["state"] == "ending")
            lit.kill(lit.daemon())
        assert lit.call("wait_session", session=session, until="ended", timeout="120s")["state"] == "ended"
        assert none_left(mark)
        agent.process.wait(200)
        assert [event["action"] for event in lit.events(session)].count("ended") == 1


def test_what_it_leaves_behind_goes_on_and_is_shown(lit: Engine, tmp_path: Path, mark: str) -> None:
    with outsider(lit, tmp_path) as agent:
        agent.tell(f"export CLAUDE_CODE_SESSION_ID={ONE}")
        session = own(agent)
        agent.tell(f"setsid {sleeper(mark)} &")
        assert wait_until(lambda: len(marked(mark)) == 1)
        agent.leave()
        assert wait_until(lambda: lit.show(session)["verdict"] == "leftovers"), lit.show(session)
        assert len(marked(mark)) == 1
        assert lit.call("kill_session", session=session, force=True, grace="0s")["state"] == "ended"
        assert none_left(mark)


def test_another_agent_in_the_same_conversation_keeps_its_own(lit: Engine, tmp_path: Path, mark: str) -> None:
    with outsider(lit, tmp_path) as agent, outsider(lit, tmp_path) as other:
        for one in (agent, other):
            one.tell(f"export CLAUDE_CODE_SESSION_ID={ONE}")
        session, neighbour = own(agent), own(other)
        other.tell(f"setsid {sleeper(mark)} &")
        assert wait_until(lambda: len(marked(mark)) == 1)
        assert lit.call("kill_session", session=session, force=True, grace="0s")["state"] == "ended"
        assert len(marked(mark)) == 1
        assert lit.show(neighbour)["state"] == "running"
        assert lit.call("kill_session", session=neighbour, force=True, grace="0s")["state"] == "ended"


def test_what_another_in_the_same_conversation_let_go_is_not_its_own(lit: Engine, tmp_path: Path, mark: str) -> None:
    """Whoever says that it is in a conversation may be wrong, or lie: what has left both of them is neither's to end."""
    with outsider(lit, tmp_path) as agent, outsider(lit, tmp_path) as other:
        for one in (agent, other):
            one.tell(f"export CLAUDE_CODE_SESSION_ID={ONE}")
        session, neighbour = own(agent), own(other)
        other.tell(f"(setsid {sleeper(mark)} &)")
        job = running_as(mark)
        assert job not in {one["pid"] for one in lit.show(session)["tree"]}
        assert lit.call("kill_session", session=session, force=True, grace="0s")["state"] == "ended"
        assert [one.pid for one in marked(mark)] == [job]
        assert lit.call("kill_session", session=neighbour, force=True, grace="0s")["state"] == "ended"
        assert none_left(mark), "nobody else is in its conversation any more"


def test_going_down_leaves_it_alone(tmp_path: Path, lit: Engine) -> None:
    """Nobody put it under management: it is found again by the next daemon."""
    with outsider(lit, tmp_path) as agent:
        session = own(agent)
        lit.call("stop_daemon", all=True, grace="0s")
        assert agent.process.poll() is None
        assert wait_until(lambda: lit.show(session)["state"] == "running")
        assert own(agent) == session


def test_a_pid_that_another_has_by_now_is_nobodys(lit: Engine, tmp_path: Path) -> None:
    """While no daemon was there its process ended and the number was given away: as if, by another start time in the store."""
    with outsider(lit, tmp_path) as agent:
        before = own(agent)
        os.kill(lit.keeper()[0], signal.SIGSTOP)  # so that it starts no daemon meanwhile
        lit.kill(lit.daemon())
        with closing(sqlite3.connect(lit.home.database)) as db, db:
            change = "UPDATE sessions SET main = replace(main, ?, ?), facts = replace(facts, ?, ?) WHERE id = ?"
            start = str(agent.seen.start_ticks)
            db.execute(change, (start, str(int(start) - 1)) * 2 + (before,))
        os.kill(lit.keeper()[0], signal.SIGCONT)
        assert lit.call("wait_session", session=before, until="ended", timeout="120s")["state"] == "ended"
        assert agent.process.poll() is None
        after = own(agent)
        assert after != before
        assert lit.call("kill_session", session=after, force=True, grace="0s")["state"] == "ended"


def test_as_long_as_nothing_can_be_written_it_is_no_session_and_no_operator(lit: Engine, tmp_path: Path) -> None:
    theirs = lit.start("cat")["id"]
    folder, aside = lit.folder / "sessions", lit.folder / "aside"
    with outsider(lit, tmp_path) as agent:
        folder.rename(aside)
        folder.write_text("no folder can be made here")
        try:
            assert agent.caller() == f"agent:claude:{agent.process.pid}@{agent.seen.start_ticks}"
            assert agent.ask("kill_session", session=theirs, force=True)["error"]["code"] == "APPROVAL_NEEDED"
            assert registered(lit, agent) == set()
        finally:
            folder.unlink()
            aside.rename(folder)
        assert own(agent) in registered(lit, agent)
    lit.call("kill_session", session=theirs, force=True, grace="0s")


def test_a_call_of_its_own_says_which_conversation_it_is_in(lit: Engine, tmp_path: Path) -> None:
    """As Codex does, whose bridge has hardly any environment."""
    program, path = tmp_path / "codex", f"{lit.folder}/codex-{uuid.uuid4().hex[:8]}"
    program.symlink_to(sys.executable)
    command = (str(program), mcp_agent.__file__, path, *bridge_command())
    with process(*command, env=lit.environment, stdout=subprocess.DEVNULL) as running, connected(path) as client:
        for meta in ({"sessionId": ONE, "threadId": TWO}, {"sessionId": ONE}, {"sessionId": "../x", "threadId": 5}, {}):
            client.raw("list_sessions", {}, _meta=meta)
        (session,) = (one["id"] for one in lit.call("list_sessions")["sessions"] if one["pid"] == running.pid)
        heard = [event["detail"] for event in lit.events(session) if event["action"] == "conversation"]
        assert [one["conversation"] for one in heard] == [ONE]


# -- adopted by its pid


@contextmanager
def process(*command: str, **options: Any) -> Generator[subprocess.Popen[Any]]:
    """One that is nobody's, at the end gone."""
    with subprocess.Popen(command, start_new_session=True, **options) as running:
        try:
            yield running
        finally:
            running.kill()


def adopt(lit: Engine, target: object, **more: Any) -> dict[str, Any]:
    return lit.call("adopt_session", target=str(target), **more)


def test_a_process_is_adopted_by_its_pid(lit: Engine, tmp_path: Path, mark: str) -> None:
    job = sleeper(mark)
    with process("bash", "-c", f"setsid {job} & {job} & wait", cwd=tmp_path) as running:
        assert wait_until(lambda: len(marked(mark)) == 3)
        key = uuid.uuid4().hex
        found = lit.call("adopt_session", key=key, target=str(running.pid), name="job")
        assert lit.call("adopt_session", key=key, target=str(running.pid), name="job") == found
        shown = lit.show("job")
        assert (shown["driver"], shown["agent"], shown["kind"]) == ("registered", "generic", "task")
        assert (shown["owner"], shown["guarantee"], shown["pid"]) == ("operator", "best_effort", running.pid)
        assert (shown["cwd"], shown["processes"]) == (str(tmp_path), 3)
        assert code_of(lambda: adopt(lit, running.pid)) == "ADOPTED"
        ended = lit.call("kill_session", session="job", force=True, grace="0s")
        assert (ended["state"], len(ended["certificate"]["processes"])) == ("ended", 3)
        assert none_left(mark)
        running.wait(200)


def test_a_pid_with_its_start_is_that_process_alone(lit: Engine) -> None:
    with process("sleep", "300") as running:
        start = proc.start_of(running.pid)
        assert start is not None
        with pytest.raises(LampError, match=f"process {running.pid} is another one now") as caught:
            adopt(lit, running.pid, start=start - 1)
        assert caught.value.code.value == "NOT_FOUND"
        assert code_of(lambda: adopt(lit, "tmux:work", start=start)) == "BAD_INPUT"
        found = adopt(lit, running.pid, start=start)
        lit.call("kill_session", session=found["id"], force=True, grace="0s")


def test_an_adopted_agent_speaks_as_that_session(lit: Engine, tmp_path: Path) -> None:
    """Whichever of launcher and program was named."""
    with outsider(lit, tmp_path) as agent:
        born, (words, file) = tmp_path / "born", asking(lit, "get_status")
        go = tmp_path / "go-on"
        os.mkfifo(go)
        agent.tell(f"{agent.program} -c {shlex.quote(f'echo $$ > {born}; read x < {go}; {words}; true')}")
        assert wait_until(lambda: born.exists() and born.read_text().endswith("\n"))
        session = adopt(lit, born.read_text().strip())
        assert session["pid"] == agent.process.pid
        go.write_text("\n")
        assert answered(file)["result"]["caller"] == f"session:{session['id']}"
        assert own(agent) == session["id"]
        assert code_of(lambda: adopt(lit, agent.process.pid)) == "ADOPTED"


def test_nothing_is_in_two_sessions(lit: Engine, tmp_path: Path, mark: str) -> None:
    """Neither what an agent that is a session has started, nor what such an agent runs below: who ends one would end the other,
    whoever protects that."""
    with outsider(lit, tmp_path) as agent:
        session = own(agent)
        agent.tell(f"{sleeper(mark)} &")
        job = running_as(mark)
        with pytest.raises(LampError) as caught:
            adopt(lit, job)
        assert (caught.value.code, caught.value.details["session"]) == (Code.ADOPTED, session)
        lit.call("kill_session", session=session, force=True, grace="0s")
        assert none_left(mark)
    born, (words, file) = tmp_path / "born", asking(lit, "get_status")
    (tmp_path / "turn").write_text(f"{words}; echo $$ > {born}; {sleeper(mark)}; true\n")
    with process("bash", "-c", f"{agent.program} {tmp_path}/turn; true", env=lit.environment) as shell:
        session = answered(file)["result"]["caller"].removeprefix("session:")
        assert wait_until(lambda: marked(mark))
        with pytest.raises(LampError) as caught:
            adopt(lit, shell.pid)
        assert (caught.value.code, caught.value.details["session"]) == (Code.ADOPTED, session)
        assert "below" in caught.value.message
        lit.call("kill_session", session=session, force=True, grace="0s")
    assert none_left(mark)


def test_the_rest_of_its_terminal_is_not_touched(lit: Engine, tmp_path: Path, mark: str) -> None:
    """A shell at a terminal, the agent below it, and a job of the shell's beside it: the agent alone is ended."""
    with outsider(lit, tmp_path) as shape:
        program = shape.program
    born, (words, file) = tmp_path / "born", asking(lit, "get_status")
    its, beside = sleeper(f"{mark}-its"), sleeper(f"{mark}-beside")
    (tmp_path / "turn").write_text(f"echo $$ > {born}; {words}; {its}; true\n")  # in files: no mark in a command line
    (tmp_path / "shell").write_text(f"{beside} & {program} {tmp_path}/turn & wait\n")
    command = ["script", "-qec", f"bash {tmp_path}/shell", "/dev/null"]
    with process(*command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=lit.environment):
        session = answered(file)["result"]["caller"].removeprefix("session:")
        assert (lit.show(session)["kind"], lit.show(session)["pid"]) == ("main", int(born.read_text()))
        assert wait_until(lambda: marked(f"{mark}-its"))
        assert lit.call("kill_session", session=session, force=True, grace="0s")["state"] == "ended"
        assert none_left(f"{mark}-its")
        assert marked(f"{mark}-beside")


def test_what_may_not_be_adopted_is_said(lit: Engine) -> None:
    inside = lit.start("cat")["id"]
    for target, code in (
        ("1", "BAD_INPUT"),
        ("0", "NOT_FOUND"),
        ("4194304", "NOT_FOUND"),
        ("9" * 40, "NOT_FOUND"),
        ("-5", "BAD_INPUT"),
        ("", "BAD_INPUT"),
        ("tmux:", "BAD_INPUT"),
        ("nothing", "BAD_INPUT"),
        ("\u0661\u0662", "BAD_INPUT"),
        (str(lit.daemon()[0]), "BAD_INPUT"),
        (str(lit.keeper()[0]), "BAD_INPUT"),
        (str(lit.shim(inside)[0]), "BAD_INPUT"),
        (str(lit.show(inside)["pid"]), "ADOPTED"),
        (str(os.getpid()), "BAD_INPUT"),
    ):
        assert code_of(lambda: adopt(lit, target)) == code, target  # noqa: B023
    with process("sleep", "300") as running:
        assert code_of(lambda: adopt(lit, running.pid, name="-x")) == "BAD_NAME"
        running.kill()
        os.waitid(os.P_PID, running.pid, os.WEXITED | os.WNOWAIT)
        assert code_of(lambda: adopt(lit, running.pid)) == "NOT_FOUND", "dead, and not waited for"
    lit.call("kill_session", session=inside, force=True, grace="0s")


def test_another_users_process_is_not_adopted(lit: Engine) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can be somebody else")
    with process("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sleep", "300") as running:
        assert wait_until(lambda: Path(f"/proc/{running.pid}/comm").read_text() == "sleep\n")
        assert code_of(lambda: adopt(lit, running.pid)) == "FORBIDDEN"
