"""The setting agents_read: what an agent is shown of another's output, through every operation, every tool and every resource.

Each operation and each tool is called as a stranger, and a new one that is in no list here fails. What shows the marker when
agents read all is said exactly; when they read their own, nothing does.
"""

from __future__ import annotations

import base64
import json
import os
import shlex
import socket
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lamplighter.errors import LampError
from lamplighter.frontends.mcp.toolsets import TOOLSETS, load
from lamplighter.operations import names
from tests.support.engine import Engine
from tests.support.mcp_client import Inhabitant, McpClient, RpcError, ToolError, inhabitant, outside
from tests.support.processes import wait_until
from tests.support.standing import Standing
from tests.support.tmux import tmux_of

MARKER = "MARKER-77"
YES = {"action": "accept", "content": {"grant": True}}
_SAYS = "printf 'MARK%s\\n' ER-77; exec cat"  # its command is in every row, and does not have it
_RELAY = """
import os, socket, sys, threading
sock = socket.socket(socket.AF_UNIX)
sock.connect(sys.argv[1])
def back():
    while data := sock.recv(65536):
        os.write(1, data)
    os._exit(0)
threading.Thread(target=back, daemon=True).start()
while data := os.read(0, 65536):
    sock.sendall(data)
"""
_HIDDEN = [  # wherever among other bytes it stands
    base64.b64encode(MARKER.encode()).decode(),
    *(base64.b64encode(b"." * shift + MARKER.encode())[4:-4].decode() for shift in (1, 2)),
]
Probes = dict[str, list[dict[str, Any]]]


def shows(said: Any) -> bool:
    """Whether the marker is in it, as text or in bytes."""
    text = json.dumps(said)
    return any(form in text for form in (MARKER, *_HIDDEN))


class Insider:
    """A process in a session of its own that asks the daemon for operations."""

    def __init__(self, made: Engine, within: ExitStack, **arguments: Any) -> None:
        relay = [sys.executable, "-I", "-S", "-c", _RELAY, f"{made.home.run}/daemon.sock"]
        self.agent: Inhabitant = within.enter_context(inhabitant(made, bridge=relay, **arguments))
        self.id = self.agent.session

    def heard(self, operation: str, /, *, key: str = "", **arguments: Any) -> list[dict[str, Any]]:
        """All that the daemon says to it; the result or the error comes last."""
        said: list[dict[str, Any]] = []
        with socket.socket(socket.AF_UNIX) as sock:
            assert wait_until(lambda: sock.connect_ex(self.agent.path) == 0)
            request = {"id": 1, "op": operation, "args": arguments, "key": key or os.urandom(8).hex()}
            sock.sendall(json.dumps(request).encode() + b"\n")
            with sock.makefile("rb") as lines:
                for line in lines:
                    said.append(json.loads(line))
                    if "result" in said[-1] or "error" in said[-1]:
                        return said
        raise ConnectionError("the daemon went away")

    def ask(self, operation: str, /, *, key: str = "", **arguments: Any) -> dict[str, Any]:
        last = self.heard(operation, key=key, **arguments)[-1]
        if "error" in last:
            raise LampError.from_document(last["error"])
        return last["result"]

    def refused(self, operation: str, /, **arguments: Any) -> str:
        with pytest.raises(LampError) as caught:
            self.ask(operation, **arguments)
        return caught.value.code.value

    def granted(self, made: Engine, operation: str, /, **arguments: Any) -> str:
        """The id of what was asked for, and granted by the operator."""
        with pytest.raises(LampError) as caught:
            self.ask(operation, **arguments)
        assert caught.value.code.value == "APPROVAL_NEEDED", caught.value
        request = str(caught.value.details["request"])
        made.call("decide_approval", request=request, decision="grant")
        return request


@dataclass
class World:
    """What is another's: a living session, one that has ended, a transcript and its capture, a tmux session made by hand."""

    made: Engine
    living: str
    ended: str
    transcript: Path
    capture: str
    socket: str


def transcript(folder: Path) -> Path:
    folder.mkdir()
    said = {"role": "user", "content": MARKER}
    user = {"type": "user", "uuid": "u1", "parentUuid": None, "sessionId": "conv-1", "message": said}
    (folder / "t.jsonl").write_text(json.dumps(user) + "\n")
    return folder / "t.jsonl"


def printed(made: Engine, name: str) -> str:
    session = made.start("cat", name=name)["id"]
    made.call("send_input", session=session, text=MARKER)
    made.call("wait_session", session=session, until=f"text={MARKER}", since=0, timeout="60s")
    return session


@contextmanager
def world(standing: Standing, read: str) -> Generator[World]:
    settings = {"LAMPLIGHTER_AGENTS_READ": read, "LAMPLIGHTER_BOOT_FOLDERS": "/tmp", "LAMPLIGHTER_QUIET": "1h"}
    with (
        standing.lend(**settings) as made,
        tmux_of(made) as tmux,
    ):  # nothing is quiet: evidence that quotes it has a case of its own
        living, ended = printed(made, "living"), printed(made, "over")
        made.call("end_session", session=ended, checkpoint="all done")
        said = transcript(made.folder / "said")
        kept = made.call("capture_session", session=living, transcript_path=str(said))
        tmux.new("byhand", _SAYS)
        place = tmux.run("display-message", "-p", "-t", "byhand", "#{socket_path}")
        assert wait_until(lambda: MARKER in tmux.run("capture-pane", "-p", "-t", "byhand"))
        yield World(made, living, ended, said, kept["id"], place)


def operations(it: World) -> Probes:
    """Each operation, asked for what is another's wherever it takes a session."""
    both = [{"session": it.living}, {"session": it.ended}]
    none: list[dict[str, Any]] = [{}]
    waits = [{**one, "until": until, "timeout": "1s"} for one in both for until in ("reply", "ended", "idle")]
    day = {"since": "2000-01-01T00:00:00Z", "until": "2000-01-02T00:00:00Z"}
    return {
        "adopt_session": [{"target": "tmux:byhand"}],
        "list_agents": none,
        "list_approvals": none,
        "decide_approval": [{"request": "ap-00000000000000000000", "decision": "grant"}],
        "boot_report": [{}, {"transcript_dir": str(it.transcript.parent)}],
        "capture_session": [{"session": it.living}, {"transcript_path": str(it.transcript)}],
        "list_captures": none,
        "read_capture": [{"id": it.capture, "mode": mode} for mode in ("summary", "structured", "raw")],
        "list_projects": none,
        "list_spans": [day],
        "cleanup_sessions": none,
        "list_plans": none,
        "end_session": [{"session": it.living}],
        "kill_session": [{"session": it.living}],
        "protect_session": both,
        "begin_guest": none,
        "hand_off_guest": [{"checkpoint": "x", "transcript_path": str(it.transcript)}],
        "hand_off": [{"checkpoint": "x", "transcript_path": str(it.transcript)}],
        "read_history": [{**one, "spoken": spoken} for one in both for spoken in (False, True)],
        "agent_event": [{"agent": "claude", "event": event} for event in ("start", "compact", "end")],
        "agent_turn": [{"agent": "claude"}],
        "may_install": none,
        "get_status": none,
        "check_host": none,
        "prune_logs": none,
        "stop_daemon": none,
        "get_overview": none,
        "get_lineage": both,
        "list_handoffs": none,
        "start_logical": [{"name": "told"}],
        "get_logical": both,
        "close_logical": both,
        "list_names": none,
        "load_handoff": [{}, *both],
        "open_page": none,
        "close_page": none,
        "list_sessions": [{"all": True}],
        "get_session": both,
        "list_events": [{}, *both],
        "store_records": [{"records": [{"type": "note", "content": "mine"}]}],
        "search_records": [{"query": MARKER, "all": True}],
        "list_records": [{"all": True}],
        "update_record": [{"action": "resolve", "records": ["r0"]}],
        "resume_logical": [{"namespace": "n", "agent": "a"}],
        "hand_over": [{"from_session": it.living, "to_session": it.living}],
        "scan_host": none,
        "spawn_agent": [{"task": "nothing"}],
        "start_session": [{"command": ["true"], "from_session": it.ended}],
        "preview_start": [{"command": ["true"], "from_session": it.ended}],
        "send_input": [{**one, "text": "hello"} for one in both],
        "read_output": [
            {**one, "mode": mode} for one in both for mode in ("screen", "output", "cast", "transcript", "vt")
        ],
        "wait_session": waits,
        "attach_session": both,
        "watch_terminal": both,
        "take_keyboard": [{**one, "rows": 24, "cols": 80} for one in both],
        "create_token": [{"name": "t", "scope": "read"}],
        "list_tokens": none,
        "revoke_token": [{"name": "t"}],
        "export_records": none,
        "import_records": [{"file": "/nowhere"}],
    }


def of_slices(it: World) -> dict[str, Probes]:
    """The same of each slice."""
    of_tmux = {"socket": it.socket, "name": "byhand"}
    none: list[dict[str, Any]] = [{}]
    return {
        "openclaw": {
            "list_openclaw_sessions": none,
            "find_openclaw_session": [{"word": it.living}],
            "retire_sessions": [{"namespace": "n", "names": {"living": it.living}}],
        },
        "kiro": {
            "create_kiro_session": none,
            "switch_kiro_session": [{"session_id": it.living}],
            "end_kiro_session": [{"session_id": it.living}],
            "clear_kiro_session": [{"conversation": False}],
            "start_kiro_turn": [{"message": "hello"}],
            "cancel_kiro_task": [{"task_id": it.living}],
            "list_kiro_sessions": none,
            "get_kiro_turn": [{"task_id": it.living}],
            "list_kiro_turns": none,
            "read_kiro_history": none,
        },
        "tmux": {
            "list_tmux_windows": [{"socket": of_tmux["socket"]}],
            "type_in_tmux": [{**of_tmux, "text": "hello"}],
            "read_tmux": [of_tmux],
            "kill_tmux": [of_tmux],
        },
    }


SHOWING = {
    "boot_report",
    "get_session",
    "read_capture",
    "read_history",
    "read_output",
    "search_records",
    "wait_session",
    *(("read_tmux",) if "tmux" in TOOLSETS else ()),
}


@pytest.mark.parametrize(("read", "showing"), [("all", SHOWING), ("own", set[str]())])
def test_every_operation(standing: Standing, read: str, showing: set[str]) -> None:
    with world(standing, read) as it, ExitStack() as within:
        stranger = Insider(it.made, within, name="stranger")
        probes = operations(it)
        for name, more in of_slices(it).items():
            probes |= more if name in TOOLSETS else {}
        assert probes.keys() == set(names()), "each operation is tried, a new one too"
        told = {name: [stranger.heard(name, **one) for one in tried] for name, tried in probes.items()}
        wrong = [said for answers in told.values() for said in answers if "BAD_INPUT" in json.dumps(said[-1])]
        assert wrong == [], "what is asked wrongly shows nothing in any case"
        assert {name for name, said in told.items() if shows(said)} == showing
        for words in ("text=MARK", "reply"):
            waited = stranger.heard("wait_session", session=it.living, until=words, since=0, timeout="30s")[-1]
            assert ("result" in waited) == (read == "all"), waited


# -- what is one's own, and what is asked for


def claude(folder: Path) -> dict[str, Any]:
    """Where an agent of this name can be started, which does nothing."""
    program = folder / "claude"
    program.write_text("#!/bin/sh\nexec cat\n")
    program.chmod(0o755)
    return {"environment": {"PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(folder)}, "cwd": str(folder)}


def outputs(session: str) -> list[tuple[str, dict[str, Any]]]:
    asked: list[tuple[str, dict[str, Any]]] = [("read_history", {"session": session})]
    asked += [("read_output", {"session": session, "mode": mode}) for mode in ("screen", "output", "cast", "vt")]
    return [*asked, ("wait_session", {"session": session, "until": f"text={MARKER}", "since": 0, "timeout": "30s"})]


def test_itself_what_it_started_and_its_predecessors_are_its_own(standing: Standing) -> None:
    with standing.lend(LAMPLIGHTER_AGENTS_READ="own") as made, ExitStack() as within:
        first = Insider(made, within, name="first")
        child = first.ask("start_session", command=["sh", "-c", _SAYS], cwd="/", protect=True)["id"]
        below = made.start("sh", "-c", _SAYS, parent=child)["id"]
        made.call("wait_session", session=below, until=f"text={MARKER}", since=0, timeout="60s")
        assert first.ask("read_output", session=first.id, mode="output")["text"].strip() == "ready"
        for operation, arguments in [*outputs(child), *outputs(below)]:
            assert first.ask(operation, **arguments), operation
        made.call("kill_session", session=child, force=True)
        shown = first.ask("get_session", session=child)["ending"]["summary"]["last_lines"]
        assert MARKER in shown, "also when it has ended"
        made.call("end_session", session=first.id, checkpoint="go on")
        second = Insider(made, within, name="second", from_session=first.id)
        for session in (first.id, child, below):
            assert "text" in second.ask("read_output", session=session, mode="output")
        assert second.refused("read_output", session=printed(made, "another")) == "APPROVAL_NEEDED"


def test_to_read_is_approved_for_one_look(standing: Standing) -> None:
    with standing.lend(LAMPLIGHTER_AGENTS_READ="own") as made, ExitStack() as within:
        agent, living = Insider(made, within, name="agent"), printed(made, "living")
        for operation, arguments in outputs(living):
            request = agent.granted(made, operation, **arguments)
            assert agent.refused(operation, **arguments, approval="ap-" + "0" * 20) == "FORBIDDEN"
            wider = {**arguments, "session": printed(made, f"other-{request[3:9]}")}
            assert agent.refused(operation, **wider, approval=request) == "FORBIDDEN"
            said = agent.heard(operation, key="one", **arguments, approval=request)
            assert "result" in said[-1]
            assert shows(said)
            assert agent.refused(operation, key="one", **arguments, approval=request) == "APPROVAL_USED", (
                "one look a grant"
            )
        asked = [event["action"] for event in made.events(living) if "approval" in event["action"]]
        assert asked == ["approval asked", "approval granted", "approval used"] * len(outputs(living))


def test_also_what_has_ended_is_read_by_approval(standing: Standing) -> None:
    with standing.lend(LAMPLIGHTER_AGENTS_READ="own") as made, ExitStack() as within:
        agent, over = Insider(made, within, name="agent"), printed(made, "over")
        made.call("end_session", session=over, checkpoint="all done")
        request = agent.granted(made, "read_output", session=over, mode="output")
        assert MARKER in agent.ask("read_output", session=over, mode="output", approval=request)["text"]
        assert agent.refused("send_input", session=over, text="hello") == "FORBIDDEN", (
            "to end or send to it cannot be asked"
        )


def test_a_look_that_was_asked_wrongly_leaves_the_approval(standing: Standing, tmp_path: Path) -> None:
    with standing.lend(LAMPLIGHTER_AGENTS_READ="own") as made, ExitStack() as within:
        agent = Insider(made, within, name="agent")
        theirs = made.call("start_session", agent="claude", **claude(tmp_path))["id"]
        wrong = {"session": theirs, "mode": "transcript", "since": 1_000_000}
        request = agent.granted(made, "read_output", **wrong)
        for _ in range(2):
            assert agent.refused("read_output", **wrong, approval=request) == "BAD_INPUT"
        actions = [event["action"] for event in made.events(theirs)]
        assert actions.count("approval given back") == 2


def test_a_session_that_is_called_as_another_s_id_reads_nothing_of_it(standing: Standing) -> None:
    with world(standing, "own") as it, ExitStack() as within:
        agent = Insider(it.made, within, name="agent")
        it.made.call("end_session", session=it.living, checkpoint="all done")
        for taken in (it.living, it.ended):
            agent.heard("start_session", command=["cat"], cwd="/", name=taken)
        assert not shows(agent.heard("read_capture", id=it.capture))
        assert not shows(agent.heard("search_records", query=MARKER, all=True))


def test_nobody_is_asked_about_a_selection(standing: Standing) -> None:
    with standing.lend(LAMPLIGHTER_AGENTS_READ="own") as made, ExitStack() as within:
        agent = Insider(made, within, name="agent")
        for name in ("many-1", "many-2"):
            printed(made, name)
        assert agent.refused("wait_session", session="many-*", until="text=x", timeout="30s") == "FORBIDDEN"
        assert agent.ask("wait_session", session="many-*", until="idle", timeout="30s")["met"] == "idle"
        assert made.call("list_approvals")["approvals"] == []


def test_an_end_that_was_approved_shows_no_output(standing: Standing) -> None:
    with standing.lend(LAMPLIGHTER_AGENTS_READ="own") as made, ExitStack() as within:
        agent, living = Insider(made, within, name="agent"), printed(made, "living")
        request = agent.granted(made, "end_session", session=living, checkpoint="all done")
        ended = agent.ask("end_session", session=living, checkpoint="all done", approval=request)
        assert ended["state"] == "ended"
        assert not shows(ended)
        assert MARKER in made.show(living)["ending"]["summary"]["last_lines"]


@pytest.mark.parametrize("read", ["all", "own"])
def test_another_s_conversation_is_not_gone_on_with(standing: Standing, tmp_path: Path, read: str) -> None:
    """Whoever goes on with a conversation has all that was said in it."""
    ways: list[dict[str, Any]] = [{}, {"acp": True, "command": ["claude"]}]
    with standing.lend(LAMPLIGHTER_AGENTS_READ=read) as made, ExitStack() as within:
        agent, place = Insider(made, within, name="agent", cwd=str(tmp_path)), claude(tmp_path)
        theirs = made.call("start_session", agent="claude", name="theirs", **place)
        made.call("kill_session", session=theirs["id"], force=True)

        def forbidden(word: str) -> list[bool]:
            said = [agent.heard("preview_start", agent="claude", resume=word, **way, **place)[-1] for way in ways]
            return ["error" in one and one["error"]["code"] == "FORBIDDEN" for one in said]

        for word in (theirs["id"], theirs["conversation"], "last"):
            assert forbidden(word) == [read == "own"] * 2, word
        agent.ask("start_session", command=["cat"], cwd="/", name=theirs["id"])
        for word in (theirs["conversation"], "last"):
            assert forbidden(word) == [read == "own"] * 2, f"{word}, with one of its own called as its id"


@pytest.mark.parametrize(("read", "quoted"), [("all", f": {MARKER}"), ("own", "")])
def test_evidence_quotes_no_output_where_each_reads_its_own(standing: Standing, read: str, quoted: str) -> None:
    with standing.lend(LAMPLIGHTER_AGENTS_READ=read, LAMPLIGHTER_QUIET="0.2s") as made, ExitStack() as within:
        agent = Insider(made, within, name="agent")
        living = printed(made, "living")

        def evidence() -> str:
            return agent.ask("get_session", session=living)["evidence"][0]

        assert wait_until(lambda: evidence() == f"cat waits for an answer{quoted}", 60), evidence()


# -- tools and resources


def tools(it: World) -> dict[str, Probes]:
    """Each tool of each toolset."""
    none: list[dict[str, Any]] = [{}]
    keys = [{"sessionKey": it.living}, {"sessionKey": it.ended}]
    both = [{"session": it.living}, {"session": it.ended}]
    byhand = {"name": "byhand"}
    return {
        "core": {
            "start_session": [{"command": ["true"]}],
            "list_sessions": [{"selection": "ended"}, {}],
            "get_session": both,
            "send_input": [{"session": it.living, "text": "hello"}],
            "read_output": [{**one, "mode": mode} for one in both for mode in ("screen", "output", "transcript")],
            "wait_session": [{"session": it.living, "until": "reply", "timeout": "30s"}],
            "end_session": [{"session": it.living}],
            "kill_session": [{"session": it.living}],
            "cleanup_sessions": none,
            "scan_host": none,
            "load_handoff": [{}, {"session": it.ended}],
            "store_records": [{"records": ["note: mine"]}],
            "search_records": [{"query": MARKER, "project": "all"}, {"query": MARKER}],
            "update_record": [{"records": ["r0"], "action": "resolve"}],
        },
        "openclaw": {
            "sessions_list": [{"messageLimit": 5}],
            "sessions_history": keys,
            "sessions_send": [{"sessionKey": it.living, "message": "hello"}],
            "sessions_spawn": [{"task": "nothing"}],
            "sessions_kill": [{"sessionKey": it.living}],
            "sessions_cleanup": none,
        },
        "kiro": {
            "kiro_chat": [{"message": "hello"}],
            "kiro_command": [{"command": "/help"}],
            "kiro_session_create": none,
            "kiro_session_list": none,
            "kiro_session_switch": [{"session_id": it.living}],
            "kiro_session_end": [{"session_id": it.living}],
            "kiro_session_clear": none,
            "kiro_history": none,
            "kiro_history_clear": none,
            "kiro_session_save": [{"path": f"{it.made.folder}/kiro.json"}],
            "kiro_agents_list": none,
            "kiro_chat_async": [{"message": "hello"}],
            "kiro_task_status": [{"task_id": it.living}],
            "kiro_task_cancel": [{"task_id": it.living}],
            "kiro_task_list": none,
            "kiro_pool_stats": none,
        },
        "tmux": {
            "list_sessions": none,
            "has_session": [byhand],
            "list_windows": [byhand],
            "capture_pane": [byhand],
            "new_session": [{"name": "mine", "command": "true"}],
            "send_keys": [{**byhand, "keys": "hello"}],
            "kill_session": [byhand],
        },
        "rekindle": {
            "end_session": [{"checkpoint": "x", "transcript_path": str(it.transcript)}],
            "boot_report": [{"transcript_dir": str(it.transcript.parent)}],
            "store_memory": [{"content": "mine"}],
            "search_memory": [{"query": MARKER}],
            "list_memories": none,
            "update_memory": [{"id": "r0", "content": "mine"}],
            "delete_memory": [{"id": "r0"}],
            "list_captures": none,
            "read_capture": [{"id": it.capture}],
            "capture_now": [{"transcript_path": str(it.transcript)}],
        },
        "delx": {
            "start_session": [{"agent_id": "a"}],
            "start_therapy_session": [{"agent_id": "a"}],
            "close_session": [{"session_id": it.ended}],
            "get_session_summary": [{"session_id": it.ended}, {"session_id": it.living}],
            "resume_session": [{"agent_id": "a"}],
            "agent_handoff": [{"from_session_id": it.living, "to_session_id": it.living}],
        },
    }


SHOWN = {
    "core": {"get_session", "read_output", "search_records", "wait_session"},
    "openclaw": {"sessions_list", "sessions_history"},
    "kiro": set[str](),
    "tmux": {"capture_pane"},
    "rekindle": {"boot_report", "read_capture"},
    "delx": set[str](),
}


def called(client: McpClient, tool: str, arguments: dict[str, Any]) -> str:
    try:
        return json.dumps(client.raw(tool, arguments))
    except RpcError as error:
        return str(error)


@pytest.mark.parametrize("name", list(TOOLSETS))
@pytest.mark.parametrize("read", ["all", "own"])
def test_every_tool(standing: Standing, read: str, name: str) -> None:
    with world(standing, read) as it, inhabitant(it.made, tools=name, environment=inside(it.made)) as agent:
        probes = tools(it)[name]
        assert probes.keys() == {tool.name for tool in load(name).tools}, "each tool is tried, a new one too"
        client = agent.client()
        told = {tool: [called(client, tool, one) for one in tried] for tool, tried in probes.items()}
        shown = {tool for tool, said in told.items() if shows(said)}
        assert shown == (SHOWN[name] if read == "all" else set[str]())


def inside(made: Engine) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(made.folder),
        "LAMPLIGHTER_HOME": str(made.folder),
        "TMUX_TMPDIR": str(made.folder),
        "SHELL": "/bin/sh",
    }


@pytest.mark.skipif("openclaw" not in TOOLSETS, reason="without that slice")
def test_a_glance_at_many_asks_for_none(standing: Standing) -> None:
    with world(standing, "own") as it, inhabitant(it.made, tools="openclaw") as agent:
        rows = agent.client().call("sessions_list", messageLimit=5)["sessions"]
        assert "living" in json.dumps(rows)
        assert it.made.call("list_approvals")["approvals"] == []


BY_APPROVAL = {"tmux": "capture_pane", "rekindle": "read_capture", "openclaw": "sessions_history"}


@pytest.mark.parametrize(("name", "tool"), [(name, tool) for name, tool in BY_APPROVAL.items() if name in TOOLSETS])
def test_the_same_call_again_uses_what_was_granted(standing: Standing, name: str, tool: str) -> None:
    with world(standing, "own") as it, inhabitant(it.made, tools=name, environment=inside(it.made)) as agent:
        client, arguments = agent.client(), tools(it)[name][tool][0]
        with pytest.raises(ToolError):
            client.call(tool, **arguments)
        [asked] = it.made.call("list_approvals")["approvals"]
        it.made.call("decide_approval", request=asked["id"], decision="grant")
        assert MARKER in called(client, tool, arguments)
        assert MARKER not in called(client, tool, arguments), "once"


def test_resources(standing: Standing) -> None:
    for read in ("all", "own"):
        with world(standing, read) as it, inhabitant(it.made) as agent:
            client = agent.client()
            for session in (it.living, it.ended):
                for address, has in (
                    (f"session://{session}", session == it.ended),
                    (f"session://{session}/output", True),
                ):
                    assert (MARKER in _read(client, address)) == (has and read == "all"), address


def test_a_resource_is_read_by_approval(standing: Standing) -> None:
    with world(standing, "own") as it, inhabitant(it.made) as agent:
        client, address = agent.client(), f"session://{it.living}/output"
        assert "repeat exactly this call; it holds once" in _read(client, address)
        [asked] = it.made.call("list_approvals")["approvals"]
        it.made.call("decide_approval", request=asked["id"], decision="grant")
        assert MARKER in _read(client, address)
        assert "APPROVAL_NEEDED" in _read(client, address)


def test_a_client_in_no_session_is_asked_there(standing: Standing) -> None:
    with world(standing, "own") as it, outside(it.made, elicitation={"form": {}}) as (client, _):
        client.answer = lambda _: YES
        assert MARKER in client.call("read_output", session=it.living)["text"]
        assert len(client.questions) == 1


def _read(client: McpClient, address: str) -> str:
    try:
        return json.dumps(client.request("resources/read", {"uri": address}))
    except RpcError as error:
        return str(error)


# -- the command line


def test_an_approval_on_the_command_line_is_for_one_page(standing: Standing) -> None:
    """A person is shown every page of a long output; who was let look once is shown one, and told that there is more."""
    with standing.lend(LAMPLIGHTER_AGENTS_READ="own") as made, ExitStack() as within:
        shell = made.start("sh", environment={**made.environment, "PS1": "$ "}, cwd="/")["id"]
        long = made.start("sh", "-c", "seq 400000; echo all-printed; exec cat", headless=True)["id"]
        made.call("wait_session", session=long, until="text=all-printed", since=0, timeout="120s")
        within.callback(made.call, "kill_session", session=shell, force=True)
        lamp = shlex.join([sys.executable, "-m", "lamplighter.frontends.cli.main", "read", long, "--output"])

        def typed(more: str, name: str) -> str:
            file = made.folder / name
            line = f"{lamp} {more} > {file}.out 2> {file}.err; touch {file}.done"
            made.call("send_input", session=shell, text=line)
            assert wait_until((made.folder / f"{name}.done").exists, 60)
            return (made.folder / f"{name}.err").read_text()

        assert "APPROVAL_NEEDED" in typed("", "asked")
        [asked] = made.call("list_approvals")["approvals"]
        made.call("decide_approval", request=asked["id"], decision="grant")
        assert "there is more, and the approval was for this" in typed(f"--approval {asked['id']}", "read")
        assert (made.folder / "read.out").read_text().startswith("1\n2\n")
