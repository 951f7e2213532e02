"""On a system that is not Linux: one sentence, a code, and nothing is started."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def test_elsewhere_it_says_that_it_does_not_run_yet(tmp_path: Path) -> None:
    called = "from lamplighter.frontends.cli.main import main; sys.exit(main(['ls', '--json']))"
    code = f"import sys; sys.platform = 'darwin'; {called}"
    environment = {"LAMPLIGHTER_HOME": str(tmp_path / "home")}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=200, check=False
    )
    assert ran.returncode == 3
    error = json.loads(ran.stdout)["error"]
    assert error["code"] == "UNSUPPORTED"
    assert "darwin" in error["message"]
    assert not (tmp_path / "home").exists()
