"""A daemon is waited for: before it is ready it imports, compiles and makes nothing that only calls need."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.support.engine import engine

HEAVY = {"pydantic", "pydantic_core", "mcp", "starlette", "uvicorn", "httpx", "rich", "pyghostty", "importlib.metadata"}
READY = """
import json, re, sys
import lamplighter.daemon

def ready(notice):
    ours = {name: vars(module).values() for name, module in sys.modules.items() if name.startswith("lamplighter")}
    compiled = [name for name, values in ours.items() if any(isinstance(each, re.Pattern) for each in values)]
    print(json.dumps({"modules": list(sys.modules), "compiled": compiled}))
    return False

lamplighter.daemon._say_ready = ready
lamplighter.daemon.main()
"""


def test_a_daemon_is_ready_without_what_only_calls_need() -> None:
    with engine() as made:
        command = [sys.executable, "-c", READY, made.home.run, made.home.state, "1"]
        done = subprocess.run(command, capture_output=True, text=True, env=made.environment, timeout=200, check=True)
    found = json.loads(done.stdout)
    assert HEAVY & set(found["modules"]) == set()
    assert set(found["compiled"]) <= {
        "lamplighter.holder.terminal_queries"
    }  # the standard library alone is known there
