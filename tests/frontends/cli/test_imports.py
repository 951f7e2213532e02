"""The fast path imports nothing heavy."""

from __future__ import annotations

import subprocess
import sys
import tomllib

import pytest

from lamplighter.frontends.cli.hook_client import folders
from lamplighter.home import find_home
from tests.support.engine import Engine
from tests.support.places import ROOT

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
    done = subprocess.run(command, capture_output=True, text=True, env=lit.environment, timeout=200, check=True)
    modules = done.stderr.split()
    found = [name for name in HEAVY if name in modules and name not in _already()]
    assert not found


NOT_FOR_A_HOOK = (
    *HEAVY,
    "json",
    "socket",
    "typing",
    "dataclasses",
    "enum",
    "re",
    "lamplighter.errors",
    "lamplighter.home",
)


@pytest.mark.parametrize("event", ["stop", "end", "compact", "start"])
def test_a_hook_imports_next_to_nothing(lit: Engine, event: str) -> None:
    """Agents wait for it at every turn. What is printed is measured after it, so that a lazy import counts too."""
    lit.call("get_status")
    script = (
        "import sys\nfrom lamplighter.frontends.cli.hook_client import main\nstatus = main(sys.argv[1:])\n"
        "print(*sorted(sys.modules), file=sys.stderr)\nsys.exit(status)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "claude", event],
        input='{"session_id": "conv"}',
        capture_output=True,
        text=True,
        env=lit.environment,
        timeout=200,
        check=True,
    )
    assert done.stdout == ""
    modules = set(done.stderr.split())
    assert "lamplighter.frontends.cli.hook_client" in modules
    assert not [name for name in NOT_FOR_A_HOOK if name in modules and name not in _already()]


def test_the_script_goes_to_a_hook_at_once() -> None:
    script = "import sys\nimport lamplighter.frontends.cli.entry\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not [name for name in NOT_FOR_A_HOOK if name in done.stdout.split() and name not in _already()]
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]["lamp"].startswith(
        "lamplighter.frontends.cli.entry:"
    )


@pytest.mark.parametrize(
    "environment",
    [
        {"LAMPLIGHTER_HOME": "~/lamp"},
        {"HOME": "/h"},
        {"HOME": "/h", "XDG_STATE_HOME": "/s"},
        {"HOME": "/h", "XDG_RUNTIME_DIR": "/tmp"},
        {"HOME": "/h", "XDG_RUNTIME_DIR": "/nowhere"},
    ],
    ids=str,
)
def test_a_hook_finds_the_same_home(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LAMPLIGHTER_HOME", "HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    home = find_home()
    assert folders() == (home.run, home.state)


def _already() -> set[str]:
    """What this interpreter has loaded before our first line (a virtual environment's own start-up files)."""
    done = subprocess.run(
        [sys.executable, "-c", "import sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())
