"""The fast path imports nothing heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest

from lamplighter.testing.engine import Engine

HEAVY = ("pydantic", "sqlite3", "asyncio", "rich", "mcp", "argparse", "subprocess", "pyghostty", "importlib.metadata")
SCRIPT = """
import sys
from lamplighter.frontends.cli.main import main
status = main({words!r})
sys.stdout.flush()
print(*sorted(sys.modules), file=sys.stderr)
sys.exit(status)
"""


@pytest.mark.parametrize("words", [["ls"], ["ls", "--json"], ["start", "--", "true"], [], ["status"]], ids=str)
def test_a_command_in_a_pipe_imports_nothing_heavy(lit: Engine, words: list[str]) -> None:
    lit.call("get_status")
    command = [sys.executable, "-c", SCRIPT.format(words=words)]
    done = subprocess.run(command, capture_output=True, text=True, env=lit.environment, timeout=60, check=True)
    modules = done.stderr.split()
    found = [name for name in HEAVY if name in modules and name not in _already()]
    assert not found


def _already() -> set[str]:
    """What this interpreter has loaded before our first line (a virtual environment's own start-up files)."""
    done = subprocess.run(
        [sys.executable, "-c", "import sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())
