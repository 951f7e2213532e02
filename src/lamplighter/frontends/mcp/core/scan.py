"""scan_host."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from lamplighter.frontends.mcp.core.size import cut, fitting
from lamplighter.frontends.mcp.tool_context import ToolContext
from lamplighter.frontends.mcp.toolset import READS, Answer, Tool, told
from lamplighter.operations.operation import Nothing, Request, Result

_MOST_PROCESSES = 20


class Scanned(Result):
    sums: dict[str, Any]
    leaks: list[dict[str, Any]] = Field(description="id, agent, certainty, because, memory, processes, files")
    agents: list[dict[str, Any]] = Field(description="living ones: agent, pid, cwd, memory, command, …")


async def scan_host(conversation: ToolContext, _: Request) -> Answer:
    """List what dead agents left running on this machine outside of sessions (MCP servers, shells, jobs), and living agents
    outside of sessions.

    Use it when the machine is slow or an agent has crashed. For sessions use list_sessions, to end sessions
    cleanup_sessions.

    Looks at your user's processes. certain: its agent is dead and nothing can use it any more; likely: it may be meant to
    run; because says why. Only the operator ends leaks: `lamp cleanup --leaks`. …_left_out count what does not fit.
    """
    found = await conversation.operate("scan_host")
    leaks, agents = [_leak(leak) for leak in found["leaks"]], [_agent(agent) for agent in found["agents"]]
    shown, named = fitting(leaks, 12_000), fitting(agents, 4_000)
    structured = {
        "sums": found["sums"],
        "leaks": shown,
        "leaks_left_out": len(leaks) - len(shown),
        "agents": named,
        "agents_left_out": len(agents) - len(named),
    }
    return Answer(structured)


def _leak(leak: dict[str, Any]) -> dict[str, Any]:
    processes = [
        {"pid": each["pid"], "kind": each["kind"], "command": cut(each["command"], 100), "since": each["since"]}
        for each in leak["processes"][:_MOST_PROCESSES]
    ]
    kept = {name: leak[name] for name in ("id", "agent", "session", "certainty", "memory")}
    files = [file["path"] for file in leak["files"][:_MOST_PROCESSES]]
    return {**kept, "because": cut("; ".join(leak["why"])), "processes": processes, "files": files}


def _agent(agent: dict[str, Any]) -> dict[str, Any]:
    kept = {name: agent[name] for name in ("agent", "pid", "cwd", "since", "processes", "memory", "terminal", "tmux")}
    return {**kept, "command": cut(agent["command"], 100)}


SCAN_HOST = Tool("scan_host", "Find leftovers", told(scan_host), Nothing, Scanned, scan_host, READS)
