"""Slices: each can be deleted with its folder, and the rest goes on without it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lamplighter
from lamplighter.frontends.mcp.toolsets import TOOLSETS, load
from lamplighter.operations import every_operation
from lamplighter.slices import every_slice, operation_modules, slice_names
from tests.support.engine import engine
from tests.support.mcp_client import outside

PACKAGE = Path(lamplighter.__file__).parent
ALL_THERE_IS = """
from lamplighter.frontends.mcp.toolsets import TOOLSETS, load
from lamplighter.operations import every_operation
print(*every_operation())
for name in TOOLSETS:
    print(name, *(tool.name for tool in load(name).tools))
"""


@pytest.fixture(params=slice_names())
def deleted(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The name of a slice that the package in this folder is without; its compiled files are still there."""
    shutil.copytree(PACKAGE, tmp_path / "lamplighter")
    gone = tmp_path / "lamplighter" / "compat" / request.param
    shutil.rmtree(gone)
    (gone / "__pycache__").mkdir(parents=True)
    return request.param


def test_the_rest_has_its_operations_and_tools(deleted: str, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    said = subprocess.run(
        [sys.executable, "-c", ALL_THERE_IS], env=environment, capture_output=True, text=True, check=True
    )
    operations, *toolsets = said.stdout.splitlines()
    own = {name for name, place in operation_modules().items() if place.startswith(f"lamplighter.compat.{deleted}.")}
    assert operations.split() == [name for name in every_operation() if name not in own]
    expected = {name: [tool.name for tool in load(name).tools] for name in TOOLSETS if name != deleted}
    assert {name: tools for name, *tools in (line.split() for line in toolsets)} == expected


def test_a_daemon_runs_without_it(deleted: str, tmp_path: Path) -> None:
    with engine(PYTHONPATH=str(tmp_path)) as lit:
        assert lit.cli("up").returncode == 0
        environment = Path(f"/proc/{lit.daemon()[0]}/environ").read_bytes().split(b"\0")
        assert f"PYTHONPATH={tmp_path}".encode() in environment
        assert f"'{deleted}'" in lit.cli("mcp", "--tools", deleted).stderr
        for name in TOOLSETS:
            if name != deleted:
                with outside(lit, tools=name) as (client, _):
                    assert [tool["name"] for tool in client.request("tools/list", {})["tools"]] == [
                        tool.name for tool in load(name).tools
                    ]
        session = lit.start("true")["id"]
        lit.call("wait_session", session=session)


def test_a_slice_declares_all_of_its_operations() -> None:
    """An operation that a slice defines and does not declare could not be found."""
    places = operation_modules()
    defined = {name: each.run.__module__ for name, each in every_operation().items()}
    assert {name: place for name, place in defined.items() if place.startswith("lamplighter.compat.")} == dict(places)
    assert set(every_slice()) == set(slice_names())
