"""Tokens by the real command line: made, shown once, listed, revoked; and by nobody but the operator."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lamplighter.domain.token import digest_of, make_secret
from lamplighter.errors import Code, LampError
from tests.support import asker
from tests.support.clockwork import Clockwork
from tests.support.engine import Engine
from tests.support.processes import wait_until

SECRET = re.compile(r"lamp_[0-9A-Za-z]{43}")
Lamp = Callable[..., subprocess.CompletedProcess[str]]


def kept_anywhere(lit: Engine, secret: str) -> list[Path]:
    """Files of this Lamplighter that have it in them: the store with its journal, logs, everything."""
    files = (path for path in lit.folder.rglob("*") if path.is_file())
    return [path for path in files if secret.encode() in path.read_bytes()]


def listed(lamp: Lamp) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in json.loads(lamp("token", "ls", "--json").stdout)["tokens"]}


def test_a_life(lit: Engine, lamp: Lamp) -> None:
    made = lamp("token", "create", "laptop", "--scope", "read,start", "--expires", "8h")
    assert made.returncode == 0, made.stderr
    (secret,) = SECRET.findall(made.stdout)
    assert not kept_anywhere(lit, secret)
    row = listed(lamp)["laptop"]
    assert (row["scopes"], row["state"], row["used_at"]) == (["read", "start"], "valid", None)
    assert secret not in lamp("token", "ls").stdout
    assert lamp("token", "revoke", "laptop").returncode == 0
    assert listed(lamp)["laptop"]["state"] == "revoked"
    again = lamp("token", "revoke", "laptop", "--json")
    assert (again.returncode, json.loads(again.stdout)["error"]["code"]) == (4, "NOT_FOUND")
    events = [event for event in lit.events() if event["action"].startswith("token")]
    assert [event["action"] for event in events] == ["token create", "token revoke"]
    assert events[0]["detail"]["scopes"] == ["read", "start"]
    assert secret not in json.dumps(events)


def test_thirty_days_unless_told(timed: tuple[Engine, Clockwork]) -> None:
    lit, clock = timed
    lit.call("create_token", name="month", scope="read")
    for_ever = lit.call("create_token", name="ever", scope="read", expires="none")
    assert for_ever["expires_at"] is None
    clock.jump(29 * 86400)
    assert lit.call("list_tokens")["tokens"][0]["state"] == "valid"
    clock.jump(2 * 86400)
    assert [row["state"] for row in lit.call("list_tokens")["tokens"]] == ["expired", "valid"]
    lit.call("create_token", name="month", scope="read")  # the name of one that has expired is free
    states = [(row["name"], row["state"]) for row in lit.call("list_tokens")["tokens"]]
    assert states == [("month", "revoked"), ("ever", "valid"), ("month", "valid")]


def test_a_repeated_key_shows_no_secret_again(lit: Engine, lamp: Lamp) -> None:
    words = ("token", "create", "once", "--scope", "read", "--key", "k1")
    (secret,) = SECRET.findall(lamp(*words).stdout)
    again = lamp(*words)
    assert again.returncode == 0
    assert not SECRET.findall(again.stdout + again.stderr)
    assert "lamp token revoke once" in again.stdout
    assert len(listed(lamp)) == 1
    assert not kept_anywhere(lit, secret)


def test_a_daemon_lost_before_the_answer_was_kept(lit: Engine) -> None:
    """The token is there, its call is only claimed: a retry gets a secret that works, and the first one never does."""
    import sqlite3

    first = lit.call("create_token", key="k", name="once", scope="read")
    lit.kill(lit.daemon())
    with closing(sqlite3.connect(lit.home.database)) as db, db:
        db.execute("UPDATE calls SET state = 'claimed', result = NULL WHERE key = 'k'")
    db.close()
    second = lit.call("create_token", key="k", name="once", scope="read")
    assert second["secret"] not in (None, first["secret"])
    assert second["id"] == first["id"]
    assert len(lit.call("list_tokens")["tokens"]) == 1
    with closing(sqlite3.connect(lit.home.database)) as db, db:
        assert db.execute("SELECT digest FROM tokens").fetchall() == [(digest_of(second["secret"]),)]
    db.close()


def test_names_are_taken_once(lit: Engine, lamp: Lamp) -> None:
    lamp("token", "create", "one", "--scope", "read")
    taken = lamp("token", "create", "one", "--scope", "read", "--json")
    assert json.loads(taken.stdout)["error"]["code"] == "NAME_TAKEN"
    lamp("token", "revoke", "one")
    assert lamp("token", "create", "one", "--scope", "read").returncode == 0


def test_eight_at_once_make_one(lit: Engine) -> None:
    lit.call("get_status")

    def make(_: int) -> str:
        try:
            return lit.call("create_token", name="one", scope="read")["secret"]
        except LampError as error:
            return error.code

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(make, range(8)))
    assert found.count("NAME_TAKEN") == 7
    assert len(lit.call("list_tokens")["tokens"]) == 1


NONSENSE: tuple[tuple[str, ...], ...] = (
    ("create",),
    ("create", "x"),
    ("create", "x", "--scope", ""),
    ("create", "x", "--scope", "read,everything"),
    ("create", "x", "--scope", "read,"),
    ("create", "x", "--scope", "read", "--expires", "0"),
    ("create", "x", "--scope", "read", "--expires", "soon"),
    ("create", "x", "--scope", "read", "--expires", "99999d"),
    ("create", "../x y", "--scope", "read"),
    ("create", "x'; DROP TABLE tokens; --", "--scope", "read"),
    ("create", "x\x1b[2J", "--scope", "read"),
    ("ls", "x"),
    ("ls", "--scope", "read"),
    ("revoke",),
    ("show", "x"),
    (),
)


def test_what_makes_no_sense_changes_nothing(lit: Engine, lamp: Lamp) -> None:
    for words in NONSENSE:
        error = json.loads(lamp("token", *words, "--json").stdout)["error"]
        assert error["code"] in ("BAD_INPUT", "BAD_NAME"), words
        assert error["hint"]
    assert not listed(lamp)


@pytest.mark.parametrize("disguise", ["plain", "double-fork-scrubbed"])
def test_from_inside_a_session_nobody_may(lit: Engine, disguise: str) -> None:
    inside = lit.start("sh", name="inside")["id"]
    lit.call("create_token", name="mine", scope="read")
    for operation, arguments in (
        ("create_token", {"name": "x", "scope": "read"}),
        ("list_tokens", {}),
        ("revoke_token", {"name": "mine"}),
    ):
        answer = lit.folder / f"answer-{uuid.uuid4().hex}"
        words = [sys.executable, asker.__file__, lit.home.run, answer, disguise, operation, json.dumps(arguments)]
        lit.call("send_input", session=inside, text=" ".join(f"'{word}'" for word in words))
        assert wait_until(answer.exists)
        assert json.loads(answer.read_text())["error"]["code"] == "FORBIDDEN"
        event = lit.events()[-1]
        assert (event["action"], event["by"]) == ("refused", f"session:{inside}")
    assert [row["state"] for row in lit.call("list_tokens")["tokens"]] == ["valid"]


def test_the_real_command_from_inside_a_session(lit: Engine) -> None:
    lamp = f"{sys.executable} -m lamplighter.frontends.cli.main"
    command = f"{lamp} token create x --scope read --json > {lit.folder}/said"
    inside = lit.start("sh", "-c", command, environment=lit.environment)["id"]
    lit.call("wait_session", session=inside, until="ended", timeout="120s")
    assert json.loads((lit.folder / "said").read_text())["error"]["code"] == "FORBIDDEN"
    with pytest.raises(LampError) as refused:
        lit.call("revoke_token", name="x")
    assert refused.value.code is Code.NOT_FOUND


def test_secrets_have_their_length_and_differ() -> None:
    made = {make_secret() for _ in range(1000)}
    assert len(made) == 1000
    assert all(SECRET.fullmatch(one) for one in made)
