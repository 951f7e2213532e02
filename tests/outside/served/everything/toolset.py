"""The tools of the conformance suite that are like ours, as a toolset of ours: a text, an error, progress.

Knows the names and texts that the suite asks for; what it is to be a tool stands in `lamplighter.frontends.mcp`.
"""

from __future__ import annotations

from pydantic import BaseModel

from lamplighter.errors import Code, InputError
from lamplighter.frontends.mcp.conversation import Conversation
from lamplighter.frontends.mcp.toolset import READS, Answer, Tool, Toolset
from lamplighter.operations.operation import Request


class Nothing(Request):
    """No arguments."""


class Said(BaseModel):
    said: str


async def simple_text(_: Conversation, __: Nothing) -> Answer:
    text = "This is a simple text response for testing."
    return Answer({"said": text}, text)


async def error_handling(_: Conversation, __: Nothing) -> Answer:
    raise InputError(Code.BAD_INPUT, "This tool intentionally returns an error for testing", "expect it")


async def with_progress(conversation: Conversation, _: Nothing) -> Answer:
    for done in (0, 50, 100):
        await conversation.tell(done, 100, f"{done} of 100")
    return Answer({"said": "done"}, "done")


TOOLSET = Toolset(
    name="everything",
    title="Everything that the conformance suite asks for",
    instructions="For the conformance suite.",
    tools=tuple(
        Tool(name, name, "For the conformance suite.", Nothing, Said, run, READS)
        for name, run in {
            "test_simple_text": simple_text,
            "test_error_handling": error_handling,
            "test_tool_with_progress": with_progress,
        }.items()
    ),
)
