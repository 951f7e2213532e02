"""No secret reaches the store: not with a hand-off, not with a reason, not with what is inferred from the output."""

from __future__ import annotations

from typing import Any

import pytest

from lamplighter.domain.token import make_secret
from lamplighter.errors import LampError
from tests.support.engine import Engine

pytestmark = pytest.mark.shared


def _everything_stored(lit: Engine) -> bytes:
    """Every byte of the store, free pages and the write-ahead log too."""
    folder, _, name = lit.home.database.rpartition("/")
    files = [file for file in lit.folder.rglob(f"{name}*") if str(file).startswith(folder)]
    assert files
    return b"".join(file.read_bytes() for file in files)


def test_a_secret_that_is_handed_over(lit: Engine) -> None:
    secret, other = make_secret(), "gh" + "p_" + make_secret()[7:43]
    started = lit.start("sleep", "300")
    stored = lit.call(
        "hand_off", session=started["id"], checkpoint=f"the door opens with {secret}", warnings=[f"x {other} y"]
    )
    assert stored["redacted"] == 2
    ended = lit.call(
        "end_session", session=started["id"], decisions=[f"keep {secret}"], reason=f"so {other}", epitaph=secret
    )
    assert ended["handoff"]["redacted"] >= 2
    data = _everything_stored(lit)
    assert b"[redacted: lamplighter token]" in data
    assert secret.encode() not in data
    assert other.encode() not in data


def test_a_secret_in_the_reason_for_a_kill(lit: Engine) -> None:
    secret = make_secret()
    started = lit.start("sleep", "300")
    killed = lit.call("kill_session", session=started["id"], force=True, grace="0s", reason=f"it knew {secret}")
    assert killed["reason"] == "it knew [redacted: lamplighter token]"
    assert secret.encode() not in _everything_stored(lit)


def test_a_secret_in_the_last_lines(lit: Engine) -> None:
    secret = make_secret()
    started = lit.start(
        "sh", "-c", 'cat "$1"; echo over', "sh", _file(lit, f"export API_KEY={secret}\n"), headless=True
    )
    lit.call("wait_session", session=started["id"], until="ended", timeout="120s")
    data = _everything_stored(lit)
    assert b"over" in data
    assert secret.encode() not in data


def test_a_secret_in_what_a_record_rests_on(lit: Engine) -> None:
    secret = make_secret()
    record = {"content": "it is so", "files": [f"dump/{secret}"], "commits": [secret]}
    assert lit.call("store_records", records=[record], project="shop")["redacted"] == 2
    assert secret.encode() not in _everything_stored(lit)


def test_nothing_goes_by_a_secret(lit: Engine) -> None:
    """What something is called is found by that, so a secret cannot be taken out of it: it is refused, and not repeated."""
    secret = make_secret()
    started = lit.start("sleep", "300")
    told: dict[str, Any] = {"name": "x", "cwd": "/"}
    asked: list[tuple[str, dict[str, Any]]] = [
        ("start_session", {"command": ["true"], "cwd": "/", "name": secret}),
        ("start_session", {"command": ["true"], "cwd": "/", "project": secret}),
        ("store_records", {"records": [{"content": "one"}], "project": secret}),
        ("hand_off", {"session": started["id"], "checkpoint": "one", "project": secret}),
        ("load_handoff", {"project": secret}),
        ("start_logical", {**told, "told": {"agent_id": secret}}),
        ("start_logical", {**told, "shared": {"delx": secret}}),
        ("begin_guest", {"session": secret, "folder": "/"}),
    ]
    for operation, arguments in asked:
        with pytest.raises(LampError) as caught:
            lit.call(operation, **arguments)
        assert (caught.value.code, secret in str(caught.value)) == ("BAD_NAME", False), operation
    assert secret.encode() not in _everything_stored(lit)


def _file(lit: Engine, text: str) -> str:
    """So that the secret is in the output and not in the command."""
    path = lit.folder / "said"
    path.write_text(text)
    return str(path)
