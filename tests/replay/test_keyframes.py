"""Keyframes as files: whole or not there, the newest that helps, none longer than it is of use."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.replay import keyframes
from lamplighter.replay.keyframes import Keyframe


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path)


def store(folder: str, *offsets: int) -> None:
    for offset in offsets:
        keyframes.write(folder, Keyframe(offset, 24, 80, b"at %d\n\n" % offset))


def test_what_is_written_is_read(folder: str) -> None:
    keyframe = Keyframe(7, 24, 80, b"\x1b[1mx\n\0\n", exact=False, headless=True)
    path = keyframes.write(folder, keyframe)
    assert keyframes.load(folder, 7) == keyframe
    assert os.path.basename(path) == "key-00000000000000000007"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert os.listdir(folder) == [os.path.basename(path)]


def test_the_newest_that_helps(folder: str) -> None:
    store(folder, 30, 10, 20)
    found = [keyframes.newest(folder, at) for at in (None, 30, 29, 20, 9)]
    assert [keyframe and keyframe.offset for keyframe in found] == [30, 30, 20, 20, None]
    assert keyframes.newest(folder, 15, oldest=11) is None
    first = keyframes.first(folder, 11)
    assert first is not None
    assert first.offset == 20
    assert keyframes.first(folder, 31) is None


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]\n", b'"x"\n', b'{"version": 1}\n', b'{"version": 99, "rows": 1, "cols": 1, "size": 0}\n',
     b'{"version": 1, "rows": 24, "cols": 80, "size": 5}\nfour',
     b'{"version": 1, "rows": "x", "cols": 80, "size": 0}\n'],
)  # fmt: skip
def test_a_damaged_one_is_passed_over(folder: str, content: bytes) -> None:
    store(folder, 10)
    Path(folder, f"key-{20:020d}").write_bytes(content)
    assert keyframes.load(folder, 20) is None
    found = keyframes.newest(folder)
    assert found is not None
    assert found.offset == 10


def test_pruning(folder: str) -> None:
    store(folder, *range(0, 100, 10))
    Path(folder, ".key-unfinished").write_bytes(b"")
    Path(folder, "log-x").write_bytes(b"")
    assert keyframes.prune(folder, 30, keep=5) == [0, 10, 20, 30, 40]
    assert keyframes.offsets(folder) == [50, 60, 70, 80, 90]
    assert Path(folder, "log-x").exists()
    assert not Path(folder, ".key-unfinished").exists()


def test_a_failed_write_leaves_nothing(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(OSError, match="No space"):
        store(folder, 1)
    assert os.listdir(folder) == []


def test_no_folder_has_no_keyframes(folder: str) -> None:
    nowhere = folder + "/nowhere"
    assert keyframes.newest(nowhere) is None
    assert keyframes.prune(nowhere, 0) == []


@given(st.binary())
def test_any_bytes_are_kept(tmp_path_factory: pytest.TempPathFactory, vt: bytes) -> None:
    folder = str(tmp_path_factory.mktemp("keyframes"))
    keyframes.write(folder, Keyframe(3, 2, 1, vt))
    assert keyframes.load(folder, 3) == Keyframe(3, 2, 1, vt)
