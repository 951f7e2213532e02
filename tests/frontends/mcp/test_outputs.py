"""Every tool of every toolset, called through the SDK's own client: it holds each result against the tool's output schema.

Half of the clients give their model the structure alone, the other half the text alone: each says everything.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from lamplighter.frontends.mcp.toolsets import TOOLSETS
from tests.support import kiro_cli, scripted
from tests.support.engine import Engine, engine
from tests.support.mcp_client import bridge_command, told
from tests.support.places import GOLDEN
from tests.support.tmux import Tmux, tmux_of

PATIENCE = "120s"
PROSE: dict[str, Callable[[dict[str, Any]], str]] = {
    "boot_report": lambda found: found["report"],
    "read_capture": lambda found: found["text"],
}
"""Whose text is for a person or a model to read, as in the original."""


def facts(found: Any) -> Iterator[str]:
    """What a text must say of a result: every value in it, as it is or as JSON has it."""
    if isinstance(found, dict):
        for value in found.values():
            yield from facts(value)
    elif isinstance(found, list):
        for value in found:
            yield from facts(value)
    elif isinstance(found, str):
        yield json.dumps(found, ensure_ascii=False)[1:-1]
    elif found is not None:
        yield json.dumps(found)


class Round:
    """One client of one toolset, and which of its tools it has called."""

    def __init__(self, client: Client, tools: str, home: Path) -> None:
        self.client = client
        self.tools = tools
        self.home = home
        self.called: set[str] = set()

    async def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Its result, which the client has found to be within the schema."""
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, (tool, result.content)
        self.called.add(tool)
        said = [part.text for part in result.content]
        found = result.structured_content
        if found is None:  # its result is a text, and the facts about it
            return told(said)
        if tool in PROSE:
            assert said == [PROSE[tool](found)]
        elif self.tools != "core":
            assert [json.loads(text) for text in said] == [found]
        else:
            assert [fact for fact in facts(found) if fact not in said[0]] == [], said[0]
        return found

    async def refused(self, tool: str, **arguments: Any) -> None:
        """What fails says the same in both parts too, or it is plain text alone."""
        result = await self.client.call_tool(tool, arguments)
        assert result.is_error
        (content,) = result.content
        if self.tools == "tmux":
            assert result.structured_content is None
        elif self.tools != "core":
            assert json.loads(content.text) == result.structured_content

    async def until(self, tool: str, done: Callable[[dict[str, Any]], bool], **arguments: Any) -> dict[str, Any]:
        """Asked again and again: each answer on the way is checked too."""
        async with asyncio.timeout(120):
            while True:
                found = await self.ask(tool, **arguments)
                if done(found):
                    return found


async def core(here: Round) -> None:
    session = (await here.ask("start_session", command=["sh", "-c", "echo up; exec cat"], cwd="/", name="one"))["id"]
    waited = {"session": session, "timeout": PATIENCE}
    await here.ask("wait_session", **waited, until="text=up", since=0)
    await here.ask("wait_session", session=session, timeout="0.1s")
    await here.ask("list_sessions", selection="all")
    await here.ask("send_input", session=session, text="a word")
    for mode in ("screen", "output"):
        await here.ask("read_output", session=session, mode=mode)
    await here.ask("get_session", session=session)
    plan = await here.ask("cleanup_sessions", selection=session, force=True)
    await here.ask("cleanup_sessions", apply=plan["plan"])
    await here.ask("wait_session", **waited)
    await here.ask("get_session", session=session)
    await here.ask("list_sessions", selection="ended")
    for tool in ("end_session", "kill_session"):
        other = (await here.ask("start_session", command=["cat"], cwd="/"))["id"]
        await here.ask(tool, session=other, **({"checkpoint": "half"} if tool == "end_session" else {"force": True}))
    await here.ask("scan_host")
    record = (await here.ask("store_records", records=["the lamp is lit"], project="p"))["records"][0]["id"]
    await here.ask("search_records", query="lamp", project="p")
    await here.ask("update_record", action="forget", records=[record])
    await here.ask("load_handoff")


async def openclaw(here: Round) -> None:
    told = await here.ask("sessions_spawn", task="stay", agentId="scripted", cwd="/", mode="session", label="one")
    key = told["childSessionKey"]
    for seconds in (0, 0.1):
        await here.ask("sessions_send", sessionKey=key, message="a word", timeoutSeconds=seconds)
    await here.ask("sessions_list", messageLimit=3)
    await here.ask("sessions_history", sessionKey=key)
    await here.ask("sessions_cleanup", filter=key, dryRun=True)
    await here.ask("sessions_cleanup", filter=key)
    for _ in range(2):
        await here.ask("sessions_kill", sessionKey=key, force=True)
    await here.ask("sessions_list")


async def kiro(here: Round) -> None:
    folder, gate = here.home / "work", here.home / "gate"
    session = (await here.ask("kiro_session_create", working_directory=str(folder)))["id"]
    await here.ask("kiro_session_switch", session_id=session)
    await here.ask("kiro_chat", message="say hello")
    await here.ask("kiro_command", command="/help")
    await here.ask("kiro_history")
    await here.ask("kiro_session_save", path="saved.json")
    for message, state in (
        (f"say one\ngate {gate}\nsay two", "completed"),
        ("fail 7", "failed"),
        ("hang", "cancelled"),
    ):
        task = (await here.ask("kiro_chat_async", message=message))["task_id"]
        await here.ask("kiro_task_status", task_id=task)
        await here.ask("kiro_task_list")
        if state == "completed":
            await here.until("kiro_task_status", lambda found: found["status"] == "streaming", task_id=task)
            gate.touch()
        if state == "cancelled":
            await here.ask("kiro_task_cancel", task_id=task)
        done = await here.until("kiro_task_status", lambda found: found["is_done"], task_id=task)
        assert done["status"] == state
    await here.ask("kiro_task_list", include_done=True)
    for tool in (
        "kiro_agents_list",
        "kiro_session_list",
        "kiro_pool_stats",
        "kiro_history_clear",
        "kiro_session_clear",
    ):
        await here.ask(tool)
    await here.ask("kiro_session_end", session_id=session)
    await here.ask("kiro_session_list")


async def tmux(here: Round) -> None:
    await here.ask("list_sessions")
    await here.ask("new_session", name="one", cwd=str(here.home))
    for tool in ("has_session", "list_windows", "capture_pane"):
        await here.ask(tool, name="one")
    await here.ask("send_keys", name="one", keys="echo hi")
    await here.ask("list_sessions")
    await here.ask("kill_session", name="one")
    await here.ask("has_session", name="one")


async def rekindle(here: Round) -> None:
    transcript = here.home / "11111111-2222-4333-8444-555555555555.jsonl"
    transcript.write_text((GOLDEN / "claude" / "finished" / "transcript.jsonl").read_text())
    await here.ask("boot_report", project="p")
    memory = (await here.ask("store_memory", content="the lamp is lit", project="p"))["id"]
    await here.ask("store_memory", content="brass, not tin", category="preference")
    await here.ask("search_memory", query="lamp")
    memory = (await here.ask("update_memory", id=memory, content="the lamp is out"))["memory"]["id"]
    await here.ask("list_memories", limit=5)
    await here.ask("delete_memory", id=memory)
    for _ in range(2):
        await here.ask("end_session", checkpoint="half", open_loops=["oil"], project="p")
    await here.ask("boot_report", project="p")
    capture = (await here.ask("capture_now", transcript_path=str(transcript)))["capture_id"]
    await here.ask("list_captures")
    for mode in ("summary", "structured", "raw"):
        await here.ask("read_capture", id=capture, mode=mode)


async def delx(here: Round) -> None:
    one = (await here.ask("start_session", agent_id="one"))["session_id"]
    two = (await here.ask("start_therapy_session", agent_id="two"))["session_id"]
    await here.ask("agent_handoff", from_session_id=one, to_session_id=two, context_summary="half", blocker="oil")
    for profile in ("full", "compact", "minimal", "machine"):
        await here.ask("get_session_summary", session_id=two, response_profile=profile)
        await here.ask("close_session", session_id=one, response_profile=profile, epitaph="so long")
        await here.ask("get_session_summary", session_id=one, response_profile=profile)
    await here.ask("resume_session", agent_id="one")
    await here.ask("resume_session", agent_id="two")


ROUNDS: dict[str, Callable[[Round], Awaitable[None]]] = {
    "core": core,
    "openclaw": openclaw,
    "kiro": kiro,
    "tmux": tmux,
    "rekindle": rekindle,
    "delx": delx,
}


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """With all that a toolset may want to have: a kiro-cli, a tmux server of its own, an agent that sub-agents are."""
    home = tmp_path_factory.mktemp("home")
    (home / "work").mkdir()
    with engine() as made:
        scripted.configure(made)
        made.environment |= {"PATH": kiro_cli.install(made.folder / "bin"), "HOME": str(home), "SHELL": "/bin/sh"}
        yield made


@pytest.fixture
def user_tmux(furnished: Engine) -> Iterator[Tmux]:
    with tmux_of(furnished) as made:
        made.new("by-hand")
        yield made


@pytest.mark.parametrize("tools", TOOLSETS)
def test_every_tool_keeps_its_output_schema(furnished: Engine, user_tmux: Tmux, tools: str) -> None:
    assert user_tmux
    command, *arguments = bridge_command(tools)

    async def go() -> None:
        async with AsyncExitStack() as stack:
            server = StdioServerParameters(command=command, args=arguments, env=dict(furnished.environment))
            client = await stack.enter_async_context(Client(server))
            here = Round(client, tools, Path(furnished.environment["HOME"]))
            listed = (await client.list_tools()).tools
            await ROUNDS[tools](here)
            await here.refused(listed[0].name, nonsense=1)
            assert {tool.name for tool in listed} == here.called

    asyncio.run(asyncio.wait_for(go(), 300))
