"""What may be read at boot: inside the allowed folders, regular files, within bounds; and outside nothing can be learned."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from lamplighter.compat.rekindle.boot_folders import BootFolders
from lamplighter.errors import Code, LampError
from lamplighter.settings import load_settings
from tests.support.places import GOLDEN

OUTSIDE = "is in none of the folders"


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    """An allowed folder, with something beside it that is not."""
    folder = tmp_path / "allowed"
    (folder / "deep").mkdir(parents=True)
    (folder / "me.md").write_text("I am Ada.\n")
    (folder / "deep" / "me.md").write_text("I am deep.\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_text("SECRET")
    (tmp_path / "allowed-not").mkdir()
    (tmp_path / "allowed-not" / "secret.md").write_text("SECRET")
    return folder


def read(folder: Path, path: str, base: str | None = None) -> str:
    return BootFolders((str(folder),), base).read_file(path, 1000).text


def refusal(folder: Path, path: str, base: str | None = None) -> tuple[Code, str]:
    with pytest.raises(LampError) as caught:
        BootFolders((str(folder),), base).read_file(path, 1000)
    assert "SECRET" not in str(caught.value)
    return caught.value.code, caught.value.message.replace(repr(path), "PATH")


def test_what_is_inside_is_read_by_any_of_its_names(inside: Path) -> None:
    (inside / "link").symlink_to("deep/me.md")
    (inside / "folder").symlink_to(inside / "deep")
    (inside / "folder" / "back").symlink_to("../me.md")
    assert read(inside, f"{inside}/me.md") == "I am Ada.\n"
    assert read(inside, "me.md", str(inside)) == "I am Ada.\n"
    assert read(inside, f"/{inside}/./deep/../me.md") == "I am Ada.\n"
    assert read(inside, f"{inside}/link") == "I am deep.\n"
    assert read(inside, f"{inside}/folder/me.md") == "I am deep.\n"
    assert read(inside, f"{inside}/folder/back") == "I am Ada.\n"


def test_a_folder_that_is_allowed_by_a_link_is_allowed_by_both_names(inside: Path, tmp_path: Path) -> None:
    name = tmp_path / "name"
    name.symlink_to(inside)
    assert read(name, f"{name}/me.md") == read(name, f"{inside}/me.md") == "I am Ada.\n"


def test_without_folders_nothing_is_read(inside: Path) -> None:
    with pytest.raises(LampError) as caught:
        BootFolders(()).read_file(f"{inside}/me.md", 1000)
    assert caught.value.code is Code.FORBIDDEN
    assert "boot_folders" in caught.value.hint


def test_outside_is_refused_the_same_whether_it_is_there_or_not(inside: Path, tmp_path: Path) -> None:
    (inside / "out").symlink_to(tmp_path / "outside")
    (inside / "out.md").symlink_to("../outside/secret.md")
    (inside / "nowhere").symlink_to("/nowhere/at/all")
    (inside / "chain").symlink_to("out.md")
    (tmp_path / "outside" / "home").symlink_to(inside)
    tried = [
        "/etc/passwd",
        "/no/such/thing",
        "/",
        f"{tmp_path}/outside/secret.md",
        f"{tmp_path}/outside/none.md",
        f"{tmp_path}/allowed-not/secret.md",
        f"{inside}/../outside/secret.md",
        f"{inside}/deep/../../outside/none.md",
        f"{inside}/out/secret.md",
        f"{inside}/out/none.md",
        f"{inside}/out/home/me.md",
        f"{inside}/out.md",
        f"{inside}/nowhere",
        f"{inside}/chain",
        f"{tmp_path}/outside/home/me.md",
        "/proc/self/environ",
        f"/proc/self/root{inside}/me.md",
        "../outside/secret.md",
    ]
    said = {refusal(inside, path, str(inside)) for path in tried}
    assert {code for code, _ in said} == {Code.FORBIDDEN}
    assert len(said) == 1, said


def test_the_way_there_is_judged_by_its_words(inside: Path, tmp_path: Path) -> None:
    """Neither a link outside nor its absence changes what a path with dots means: nothing outside is looked at."""
    path = f"{tmp_path}/elsewhere/x/../../allowed/me.md"
    assert read(inside, path) == "I am Ada.\n"
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "x").symlink_to("/")
    assert read(inside, path) == "I am Ada.\n"


def test_only_regular_files_are_read_and_nothing_waits(inside: Path) -> None:
    os.mkfifo(inside / "fifo")
    (inside / "self").symlink_to("self")
    (inside / "unreadable").mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(inside / "socket"))
        for name in ("fifo", "self", "unreadable", "socket", "none", "me.md/x", "a\0b", "\udc80", "\ud800", "n" * 300):
            code, _ = refusal(inside, f"{inside}/{name}")
            assert code is Code.NOT_FOUND, name


def test_where_a_path_begins_has_to_be_known(inside: Path) -> None:
    assert refusal(inside, "me.md")[0] is Code.BAD_INPUT
    assert refusal(inside, "~root/x", "/")[0] is Code.FORBIDDEN


def test_a_huge_file_is_read_as_far_as_asked(inside: Path) -> None:
    with (inside / "huge").open("wb") as file:
        file.write(b"\xff begin")
        file.truncate(1 << 40)
    found = BootFolders((str(inside),)).read_file(f"{inside}/huge", 100)
    assert (found.size, len(found.text)) == (1 << 40, 100)
    assert found.text.startswith("\ufffd begin")


EXCHANGE = """
import os, sys
folder, file, outside = sys.argv[1:]
while True:
    for place, target in ((folder, outside), (file, outside + "/secret.md")):
        os.rename(place, place + "~")
        os.symlink(target, place)
        os.unlink(place)
        os.rename(place + "~", place)
"""


def test_nothing_can_be_exchanged_between_looking_and_opening(inside: Path, tmp_path: Path) -> None:
    """A folder and a file that another process makes links and back again, while they are read: never what they lead to."""
    folder, file = inside / "deep", inside / "me.md"
    seen = dict[str, int]()
    with subprocess.Popen([sys.executable, "-c", EXCHANGE, folder, file, tmp_path / "outside"]) as process:
        try:
            while sum(seen.values()) < 20_000 or not {"I am Ada.\n", Code.FORBIDDEN, Code.NOT_FOUND} <= set(seen):
                assert process.poll() is None
                for path in (f"{file}", f"{folder}/me.md", f"{folder}/secret.md"):
                    try:
                        found = read(inside, path)
                    except LampError as error:
                        found = error.code
                    seen[found] = seen.get(found, 0) + 1
        finally:
            process.kill()
    assert set(seen) <= {"I am Ada.\n", "I am deep.\n", Code.FORBIDDEN, Code.NOT_FOUND}, seen


def test_the_newest_transcript_of_a_folder(inside: Path, tmp_path: Path) -> None:
    allowed = BootFolders((str(inside),))
    assert allowed.newest_transcript(f"{inside}/deep") is None
    for age, (name, case) in enumerate([("b.jsonl", "claude/finished"), ("a.jsonl", "claude/killed")]):
        shutil.copy(GOLDEN / case / "transcript.jsonl", inside / "deep" / name)
        os.utime(inside / "deep" / name, (1000 - age, 1000 - age))
    shutil.copy(GOLDEN / "claude/killed/transcript.jsonl", tmp_path / "outside" / "new.jsonl")
    (inside / "deep" / "link.jsonl").symlink_to(tmp_path / "outside" / "new.jsonl")
    os.mkfifo(inside / "deep" / "fifo.jsonl")
    (inside / "deep" / "newer.jsonl").write_text("no transcript\n")
    found = allowed.newest_transcript(f"{inside}/deep")
    assert found is not None
    assert (found[0], found[1].last_request) == ("b.jsonl", "Use whole cents, please")
    for path, code in ((f"{inside}/me.md", Code.NOT_FOUND), (f"{tmp_path}/outside", Code.FORBIDDEN)):
        with pytest.raises(LampError) as caught:
            allowed.newest_transcript(path)
        assert caught.value.code is code


def test_no_descriptor_is_left_open(inside: Path) -> None:
    (inside / "loop").symlink_to("loop")
    before = len(os.listdir("/proc/self/fd"))
    for path in ("me.md", "none", "loop", "deep", "deep/../../outside/secret.md"):
        try:
            BootFolders((str(inside),), str(inside)).read_file(path, 10)
        except LampError:
            continue
    BootFolders((str(inside),), str(inside)).newest_transcript("deep")
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize(
    ("written", "folders"),
    [
        ("[]", ()),
        ('["/a/b", "/c/../d/"]', ("/a/b", "/d")),
        ('"/a:/b"', ("/a", "/b")),
    ],
)
def test_the_setting_is_a_list_of_folders(written: str, folders: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(f"boot_folders = {written}\n")
    assert load_settings({"LAMPLIGHTER_HOME": str(tmp_path)}).boot_folders == folders


@pytest.mark.parametrize("written", ['["notes"]', "[1]", "7", '[""]', '["/a\\u0000"]'])
def test_a_wrong_list_is_an_error_that_names_it(written: str, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(f"boot_folders = {written}\n")
    with pytest.raises(LampError, match="boot_folders"):
        load_settings({"LAMPLIGHTER_HOME": str(tmp_path)})
