"""Transcripts that are none, that grow, that are broken or enormous: read within bounds, and never an error."""

from __future__ import annotations

import json
import os
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamplighter.agents import names_with
from lamplighter.agents.formats import jsonl, transcript
from lamplighter.agents.formats.conversation import Course
from lamplighter.agents.formats.transcript import ACP, format_of, read
from lamplighter.agents.formats.transcript_pages import TranscriptMessage
from tests.support.places import GOLDEN


def _user(text: str, number: int = 0) -> str:
    entry = {"parentUuid": None, "uuid": f"u{number}", "type": "user", "sessionId": "s", "message": {"content": text}}
    return json.dumps(entry) + "\n"


def _assistant(text: str, number: int = 0) -> str:
    message = {"id": f"m{number}", "content": [{"type": "text", "text": text}], "usage": {"input_tokens": 1}}
    return json.dumps({"parentUuid": None, "uuid": f"a{number}", "type": "assistant", "message": message}) + "\n"


def test_only_a_regular_file_of_this_user_is_opened(
    tmp_path: Path, messages: Callable[..., list[TranscriptMessage]]
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path in ("pipe", "device", "loop", "missing", ".", "pipe/x", "nul\0", "x" * 5000):
        assert read(str(tmp_path / path)) is None
        assert list(messages(str(tmp_path / path))) == []
    assert read("") is None
    assert read("/dev/tty") is None
    (tmp_path / "real").write_text(_user("Hello"))
    (tmp_path / "link").symlink_to(tmp_path / "real")
    found = read(str(tmp_path / "link"))
    assert found is not None
    assert found.last_request == "Hello"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_a_file_of_somebody_else_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text(_user("Hello"))
    os.chown(tmp_path / "theirs", 12345, 12345)
    assert read(str(tmp_path / "theirs")) is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n\n\n",
        b"hello",
        b'{"type": "user"}\n',
        b"\x00" * 100_000,
        b"\xff\xfe" * 1000,
        b"[" * 200_000,
        b'{"a":' * 100_000 + b"\n",
        b'{"n": ' + b"9" * 10_000 + b"}\n",
        b"\x7fELF" + bytes(range(256)) * 100,
    ],
)
def test_what_is_none_is_none(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.jsonl").write_bytes(data)
    assert read(str(tmp_path / "x.jsonl")) is None
    for agent in (*names_with("transcripts"), ACP):
        assert read(str(tmp_path / "x.jsonl"), agent) is None


def test_a_line_of_fifty_megabytes_is_passed_over_and_not_kept(
    tmp_path: Path, messages: Callable[..., list[TranscriptMessage]]
) -> None:
    path = tmp_path / "x.jsonl"
    with open(path, "w") as file:
        file.write(_user("Look at this picture", 1) + _assistant("I see it", 1))
        file.write('{"type": "user", "parentUuid": null, "message": {"content": "')
        for _ in range(50):
            file.write("x" * (1 << 20))
        file.write('"}}\n' + _user("And now?", 2) + _assistant("Now too", 2))
    tracemalloc.start()
    found = read(str(path))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found is not None
    assert (found.last_request, found.last_answer, found.at_least) == ("And now?", "Now too", True)
    assert most < 24 << 20
    whole = [message.text for message in messages(str(path))]
    assert whole == ["Look at this picture", "I see it", "And now?", "Now too"]


def test_a_line_of_fifty_megabytes_at_the_end_or_alone(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    huge = '{"type": "user", "parentUuid": null, "x": "' + "x" * (50 << 20)
    path.write_text(_user("Before") + _assistant("Yes") + huge)
    began = time.monotonic()
    found = read(str(path))
    assert time.monotonic() - began < 120
    assert found is not None
    assert found.conversation == "s"
    assert found.at_least
    path.write_text(huge)
    assert read(str(path)) is None


def test_of_a_very_long_one_the_end_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    with open(path, "w") as file:
        for number in range(3000):
            file.write(_user(f"request {number} " + "x" * 8000, number) + _assistant(f"answer {number}", number))
    assert path.stat().st_size > 2 * jsonl.TAIL
    found = read(str(path))
    assert found is not None
    assert found.at_least
    assert 100 < found.messages["user"] < 3000
    assert (found.last_request or "").startswith("request 2999 ")
    assert found.last_answer == "answer 2999"
    assert found.conversation == "s"


def test_one_that_grows_is_read_as_far_as_it_was(
    tmp_path: Path, messages: Callable[..., list[TranscriptMessage]]
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(_user("one", 1) + _user("two", 2)[:40])
    seen = list(messages(str(path)))
    assert [message.text for message in seen] == ["one"]
    with open(path, "a") as file:
        file.write(_user("two", 2)[40:] + _assistant("three", 3).rstrip("\n"))
    more = list(messages(str(path), start=seen[-1].next))
    assert [message.text for message in more] == ["two", "three"]
    with open(path, "a") as file:
        file.write("\n" + _user("four", 4))
    assert [message.text for message in messages(str(path), start=more[-1].next)] == ["four"]
    with open(path, "rb") as file:
        entries = jsonl.entries(file)
        next(entries)
        with open(path, "a") as grown:
            grown.write(_user("five", 5) * 1000)
        assert sum(1 for _ in entries) == 3


def test_half_of_a_character_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(
        '{"parentUuid": null, "type": "user", "sessionId": "\\ud800", "message": {"content": "a\\udc00b"}}\n'
    )
    found = read(str(tmp_path / "x.jsonl"))
    assert found is not None
    (found.last_request or "").encode()
    (found.conversation or "").encode()


_anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


def _entries() -> list[dict[str, Any]]:
    """Every entry of the golden files: what is broken next is nearly right."""
    golden = GOLDEN
    found: list[dict[str, Any]] = []
    for path in sorted(golden.glob("*/*/transcript.jsonl")):
        with open(path, "rb") as file:
            found += jsonl.head(file)
    assert len(found) > 50
    return found


ENTRIES = _entries()


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [*([path] if path else []), *(place for key, each in inside for place in _places(each, (*path, key)))]


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_entries_with_anything_in_any_place(data: st.DataObject) -> None:
    entry = json.loads(json.dumps(data.draw(st.sampled_from(ENTRIES))))
    for _ in range(data.draw(st.integers(1, 4))):
        *path, last = data.draw(st.sampled_from(_places(entry)))
        place = entry
        for key in path:
            place = place[key] if isinstance(place, dict | list) else {}
        if isinstance(place, dict) or (isinstance(place, list) and last < len(place)):
            place[last] = data.draw(_anything)
    document = jsonl.parse(json.dumps(entry).encode())
    for agent in (*names_with("transcripts"), ACP):
        form = format_of(agent)
        assert form is not None
        form.recognises(document or {})
        course = Course()
        for _ in range(2):
            course.follow(form.steps(document or {}))
        json.dumps(
            [course.counts, course.tokens, course.todos, course.at_work, list(course.files), course.last("user")]
        ).encode()


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300), st.integers(0, 14_000), st.integers(0, 14_000))
def test_a_file_that_is_cut_and_overwritten(
    tmp_path_factory: pytest.TempPathFactory, noise: bytes, cut: int, place: int
) -> None:
    data = (GOLDEN / "claude/finished/transcript.jsonl").read_bytes()
    broken = tmp_path_factory.mktemp("broken") / "x.jsonl"
    broken.write_bytes(data[:cut][:place] + noise + data[:cut][place + len(noise) :])
    found = read(str(broken))
    assert found is None or found.agent in (*names_with("transcripts"), ACP)


def test_every_reader_is_there(golden: Callable[..., Any]) -> None:
    for agent in (*names_with("transcripts"), ACP):
        form = format_of(agent)
        assert form is not None
        assert form.agent == agent
    assert format_of("generic") is None
    assert transcript.find("generic", transcript.Where("/", "/", 0, 1)) is None


@pytest.mark.parametrize(
    "said",
    [
        "9999-12-31T23:59:59-12:00",
        "0001-01-01T00:00:00+12:00",
        "2026-13-45",
        1e300,
        -(10**15),
        1e14,
        True,
        float("nan"),
    ],
)
def test_a_time_that_nobody_can_show_is_none(said: object) -> None:
    assert jsonl.moment(said) is None


def test_times_that_can_be_shown() -> None:
    for said in ("2026-01-02T03:04:05Z", 1767323045, 1767323045000):
        assert jsonl.moment(said) == 1767323045
