"""What tool descriptions are scored by: the core passes without a warning."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Reach

TDQS = Path(sys.executable).with_name("tdqs")


def test_the_core_is_without_a_warning(reach: Reach) -> None:
    # It gives the server a clean environment, and has no option for more.
    command = shlex.join(["env", *(f"{name}={value}" for name, value in reach.passed_on.items()), *reach.command()])
    done = reach.run(TDQS, "lint", "--command", command, "--fail-on", "warning", "--format", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(json.loads(done.stdout)["tools"]) == 14
