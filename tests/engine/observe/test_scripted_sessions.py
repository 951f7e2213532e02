"""Scripted sessions, each with the verdict that a person would give it: soon, after a quarter of an hour, and much later.

None may be wrong in the direction that loses work: what `never` names must not be said of it at any look.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any

from tests.support import players
from tests.support.clockwork import Clockwork
from tests.support.engine import Engine
from tests.support.processes import wait_until

REST = frozenset({"idle", "finished", "stuck", "orphaned", "leftovers"})
SOON, LATER, LATE = 20.0, 900.0, 2400.0


@dataclass(frozen=True)
class Case:
    """`verdicts` soon, later and late; with one word it is the same for good."""

    command: list[str]
    verdicts: tuple[str, ...]
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])

    def expected(self, moment: int) -> str:
        return self.verdicts[min(moment, len(self.verdicts) - 1)]


def play(role: str) -> list[str]:
    return [sys.executable, players.__file__, role]


def shell(script: str) -> list[str]:
    return ["sh", "-c", script]


def typed(line: str) -> list[str]:
    """A shell that runs this as if it had been typed: each job in a group of its own, the terminal given to the one in front."""
    return ["bash", "--norc", "-i", "-c", f"set -m; {line}"]


NETWORK = f"'{sys.executable}' '{players.__file__}' network"
_SERVER = """
import os, socket
server, nothing = socket.create_server(("127.0.0.1", 0)), os.open("/dev/null", os.O_RDWR)
for number in range(3):
    os.dup2(nothing, number)
server.accept()
"""
HEADLESS = {"headless": True}
CASES = {
    # At rest, and nothing to come.
    "shell at its prompt": Case(["bash", "--norc"], ("idle",)),
    "plain shell at its prompt": Case(["sh"], ("idle",)),
    "interpreter at its prompt": Case([sys.executable, "-q"], ("idle",)),
    "editor": Case(["vim", "-u", "NONE"], ("idle",)),
    "agent at its prompt": Case(play("agent"), ("idle",)),
    "agent at its prompt, with MCP servers": Case(play("agent_with_servers"), ("idle",)),
    "agent at its prompt, with a timer": Case(play("agent_that_ticks"), ("idle",)),
    "pager of a pipe": Case(typed("cat /etc/passwd | less"), ("idle",)),
    "headless, reads its input": Case(["cat"], ("idle",), HEADLESS),
    # Somebody is wanted.
    "reads a line": Case(["cat"], ("waiting",)),
    "script asks": Case(["bash", "-c", "read -p 'Go on? [y/N] ' x"], ("waiting",)),
    "child of a script asks": Case(shell(f"'{sys.executable}' -c 'input(\"Name: \")'; true"), ("waiting",)),
    "password": Case(play("secret"), ("waiting",)),
    "password from the terminal itself": Case(
        shell(f"'{sys.executable}' -c 'import getpass; getpass.getpass()' </dev/null; true"), ("waiting",)
    ),
    "question above": Case(play("asks_above"), ("waiting",)),
    "agent asks for permission": Case(play("agent_asks"), ("waiting",)),
    # At work, whatever it looks like.
    "computes in silence": Case(shell("while :; do :; done"), ("working",)),
    "child computes": Case(shell("sh -c 'while :; do :; done'; true"), ("working",)),
    "short-lived children": Case(shell("while :; do /bin/true; done"), ("working",)),
    "waits for a child that sleeps": Case(shell("sleep 500; true"), ("working",)),
    "waits for a grandchild that sleeps": Case(shell("sh -c 'sleep 500; true'; true"), ("working",)),
    "sleeps between rounds": Case(play("rounds"), ("working",)),
    "server that logs": Case(play("log"), ("working",)),
    "progress in place": Case(play("progress"), ("working",)),
    "download in place": Case(play("download"), ("working",)),
    "spinner over a child that computes": Case(play("spinner_over_work"), ("working",)),
    "agent at a silent tool": Case(play("agent_at_a_tool"), ("working",)),
    "headless agent at a silent tool": Case(shell("sh -c 'sleep 500; true' </dev/null; true"), ("working",), HEADLESS),
    # At work until it has done nothing for so long that nothing will come.
    "sleeps": Case(["sleep", "500"], ("working", "working", "idle")),
    "waits for the network": Case(play("network"), ("working", "working", "idle")),
    "headless, waits for the network": Case(play("network"), ("working", "working", "idle"), HEADLESS),
    "child waits for the network": Case(
        shell(f"'{sys.executable}' '{players.__file__}' network; true"), ("working", "working", "stuck")
    ),
    "job in the background of a shell": Case(
        ["bash", "--norc", "-i", "-c", "sleep 500 & read -p '$ ' x"], ("working", "working", "idle")
    ),
    "job behind an editor": Case(typed(f"{NETWORK} & vim -u NONE"), ("working", "working", "idle")),
    "job that was given its input": Case(typed(f"echo x | {NETWORK} & read -p '$ ' x"), ("working", "working", "idle")),
    "headless, job beside a read": Case(
        ["bash", "-c", f"exec 3<&0; {NETWORK} <&3 & read x"], ("working", "working", "idle"), HEADLESS
    ),
    "pipeline that waits for its head": Case(
        shell(f"{NETWORK} | {{ sleep 0.2; exec cat; }}; true"), ("working", "working", "stuck"), HEADLESS
    ),
    "spinner over a child that waits": Case(play("spinner_over_a_tool"), ("working", "working", "stuck")),
    "server whose output goes elsewhere": Case(
        [sys.executable, "-c", _SERVER], ("working", "working", "idle"), HEADLESS
    ),
    "closed its output, works on": Case(
        shell("exec >/dev/null 2>&1; exec sleep 500"), ("working", "working", "finished"), HEADLESS
    ),
    "closed its output, reads its input": Case(shell("exec >/dev/null 2>&1; cat"), ("finished",), HEADLESS),
    # Nothing comes of it.
    "spinner and nothing else": Case(play("spinner"), ("working", "stuck")),
    "stopped": Case(shell("kill -STOP $$"), ("stuck",)),
    "child in front stopped": Case(shell("sh -c 'kill -STOP $$'; true"), ("stuck",)),
    # Its command has left, others have not.
    "leftovers at work": Case(
        shell("(while :; do :; done) & exit 0"), ("working",), {"keep_children": True, "headless": True}
    ),
    "leftovers": Case(shell("sleep 500 & exit 0"), ("leftovers",), {"keep_children": True, "headless": True}),
}


def verdicts(lit: Engine) -> dict[str, tuple[str, list[str]]]:
    listed = lit.call("list_sessions")["sessions"]
    return {session["name"]: (session["verdict"], session["evidence"]) for session in listed}


def check(lit: Engine, moment: int) -> None:
    """Every verdict as it should be; on the way there none that would lose work."""
    wrong: dict[str, tuple[str, tuple[str, list[str]]]] = {}

    def settled() -> bool:
        wrong.clear()
        said = verdicts(lit)
        for name, case in CASES.items():
            found, expected = said[called(name)], case.expected(moment)
            before = case.expected(moment - 1) if moment else "working"
            assert found[0] in {expected, before} or found[0] not in REST, (name, found)
            if found[0] != expected:
                wrong[name] = (expected, found)
        return not wrong

    assert wait_until(settled), wrong


def called(name: str) -> str:
    return name.replace(" ", "-").replace(",", "")


def test_each_gets_the_verdict_a_person_would_give(timed: tuple[Engine, Clockwork]) -> None:
    lit, clock = timed
    for name, case in CASES.items():
        lit.start(*case.command, name=called(name), **case.arguments)
    for moment, seconds in enumerate((SOON, LATER, LATE)):
        clock.advance(seconds)
        for _ in range(3):
            check(lit, moment)
