"""What a session is about: the project it is told, or the repository that its folder is in; and which agent it runs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lamplighter.errors import LampError
from tests.support.engine import Engine

pytestmark = pytest.mark.shared


def test_a_session_has_the_project_of_its_folder_or_the_one_it_is_told(lit: Engine, tmp_path: Path) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "shop" / "src" / "deep").mkdir(parents=True)
    tree = tmp_path / "worktree"
    tree.mkdir()
    (tree / ".git").write_text("gitdir: elsewhere")

    def project(**arguments: str) -> str | None:
        return lit.show(lit.start("cat", **arguments)["id"])["project"]

    assert project(cwd=str(tmp_path / "shop")) == "shop"
    assert project(cwd=str(tmp_path / "shop" / "src" / "deep")) == "shop"
    assert project(cwd=str(tree)) == "worktree"
    assert project(cwd="/") is None
    assert project(cwd=str(tmp_path / "shop"), project="other") == "other"
    listed = lit.call("list_sessions", selection="project:sh*+project:other")["sessions"]
    assert [session["project"] for session in listed] == ["shop", "shop", "other"]


def test_the_name_of_the_project_one_is_in_means_that_one(lit: Engine, tmp_path: Path) -> None:
    """Also where another of the same name is known, by its folder or by nothing but its name; elsewhere the name means that."""
    for shop in ("one/shop", "two/shop"):
        (tmp_path / shop / ".git").mkdir(parents=True)
    (tmp_path / "notes").mkdir()

    def project(folder: str, **arguments: str) -> tuple[str | None, str]:
        session = lit.show(lit.start("cat", cwd=str(tmp_path / folder), **arguments)["id"])
        known = {"records": [{"content": "known"}], "folder": str(tmp_path / folder)}
        stored = lit.call("store_records", **known, **arguments)["project"]
        assert stored == lit.call("store_records", **known, **arguments)["project"]
        return session["project"], stored

    assert project("one", project="shop") == ("shop", "shop")  # nobody has used that name yet
    for shop in ("one/shop", "two/shop"):
        (tmp_path / shop / "src").mkdir()
        own = project(shop)
        assert own == ("shop", str(tmp_path / shop))
        assert project(shop, project="shop") == project(f"{shop}/src", project="shop") == own
    assert project("notes") == (None, str(tmp_path / "notes"))
    assert project("notes", project="notes") == ("notes", str(tmp_path / "notes"))
    assert project("one", project="shop") == ("shop", "shop")


@pytest.mark.parametrize("name", ["", "a b", "x" * 200, "a\x1b", "-x", "a*"])
def test_a_project_that_cannot_be_one_starts_nothing(lit: Engine, name: str) -> None:
    with pytest.raises(LampError) as refused:
        lit.start("cat", project=name)
    assert refused.value.code == "BAD_NAME"
    assert lit.call("list_sessions")["sessions"] == []


def test_a_session_is_listed_as_the_agent_that_it_runs(lit: Engine, tmp_path: Path) -> None:
    agent = tmp_path / "claude"
    shutil.copy("/bin/cat", agent)
    session = lit.start(str(agent))["id"]
    assert lit.show(session)["agent"] == "claude"
    assert [found["id"] for found in lit.call("list_sessions", selection="agent:claude")["sessions"]] == [session]
    assert lit.show(lit.start("cat")["id"])["agent"] == "generic"
