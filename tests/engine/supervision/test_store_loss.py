"""The store's files deleted, emptied, replaced or damaged, while the daemon runs and while it is down: what lives is seen, a kill
works, and the loss is named."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lamplighter.domain.call_key import new_key
from lamplighter.engine.core.session_card import CARD, forget_words
from lamplighter.errors import Code, LampError
from tests.support.engine import Engine
from tests.support.fixtures import EVERY_STEP
from tests.support.losing import delete, garble, kill, restart, snapshots, stop, store
from tests.support.mortality import deaths
from tests.support.processes import alive, wait_until


def started(lit: Engine, name: str = "worker") -> tuple[str, tuple[int, int]]:
    """A session, and its command's process."""
    session = lit.start("sleep", "300", headless=True, name=name)["id"]
    birth = json.loads((lit.folder / "sessions" / session / "birth.json").read_text())
    return session, (birth["main"][0], birth["main"][1])


def alive_ids(lit: Engine) -> list[str]:
    return [row["id"] for row in lit.call("list_sessions")["sessions"]]


def remember(lit: Engine, text: str) -> None:
    lit.call("store_records", everywhere=True, records=[{"content": text}])


def remembered(lit: Engine) -> list[str]:
    return sorted(one["content"] for one in lit.call("list_records", all=True)["records"])


def findings(lit: Engine) -> dict[str, dict[str, Any]]:
    return {check["name"]: check for check in lit.call("check_host")["checks"]}


def check_everything_ends(lit: Engine, session: str, main: tuple[int, int]) -> None:
    """What lives is listed, a kill of it works, and so does ending all the rest."""
    assert session in alive_ids(lit)
    killed = lit.call("kill_session", session=session, force=True, grace="0s")
    assert (killed["state"], killed["certificate"]["survivors"]) == ("ended", [])
    assert not alive(*main)
    lit.call("stop_daemon", all=True, grace="0s")
    left = lit.folder / "sessions"
    assert left.is_dir()


# -- while the daemon runs: its open connection still has everything


def _delete(*suffixes: str) -> Callable[[Engine], None]:
    def act(lit: Engine) -> None:
        for suffix in suffixes:
            store(lit, suffix).unlink(missing_ok=True)

    return act


def _replace(lit: Engine) -> None:
    other = lit.folder / "other.db"
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE somebody_elses (n)")
    db.close()
    os.rename(other, store(lit))


WHILE_RUNNING = {
    "wal deleted": _delete("-wal"),
    "shm deleted": _delete("-shm"),
    "db deleted": _delete(""),
    "all deleted": delete,
    "replaced": _replace,
}


@pytest.mark.parametrize("what", WHILE_RUNNING)
def test_files_that_go_while_the_daemon_runs_lose_nothing(lit: Engine, what: str) -> None:
    session, main = started(lit)
    remember(lit, "before it went")
    WHILE_RUNNING[what](lit)
    remember(lit, "after it went")
    lit.kill(lit.daemon())
    assert remembered(lit) == ["after it went", "before it went"]
    assert lit.show(session)["name"] == "worker"
    found = findings(lit)["store"]
    assert found["state"] == "bad"
    assert "nothing was lost" in found["found"]
    assert [event for event in lit.events() if event["action"] == "store made again"]
    check_everything_ends(lit, session, main)


def test_a_store_that_goes_while_nobody_asks_is_made_again(lit: Engine) -> None:
    """Noticed without a write: the files may go for good with the daemon, which can be lost at any moment."""
    remember(lit, "before it went")
    delete(lit)
    assert wait_until(lambda: store(lit).exists() and store(lit).stat().st_size > 0)
    lit.kill(lit.daemon())
    assert remembered(lit) == ["before it went"]


# -- the file itself is damaged, or was lost while no daemon ran


def _truncate(lit: Engine) -> None:
    os.truncate(store(lit), 0)


def _overwrite(lit: Engine) -> None:
    size = store(lit).stat().st_size
    store(lit, "-wal").unlink(missing_ok=True)
    with open(store(lit), "r+b") as file:
        file.write(b"this is no database at all " * (size // 27))


def _corrupt_page(lit: Engine) -> None:
    size = store(lit).stat().st_size
    with open(store(lit), "r+b") as file:
        for page in range(2, size // 4096 - 1):
            file.seek(page * 4096)
            file.write(os.urandom(4096))


def _only_wal(lit: Engine) -> None:
    shutil.copy(store(lit), lit.folder / "copy")
    store(lit).unlink()
    store(lit, "-shm").unlink(missing_ok=True)
    if not store(lit, "-wal").exists():
        store(lit, "-wal").write_bytes(b"what was left of it")


def _everything(lit: Engine) -> None:
    for path in lit.folder.iterdir():
        if path.name != "run":
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _with_sockets(act: Callable[[Engine], None]) -> Callable[[Engine], None]:
    def both(lit: Engine) -> None:
        act(lit)
        shutil.rmtree(lit.home.run)

    return both


WHILE_DOWN = {
    "deleted": delete,
    "emptied": _truncate,
    "garbage": garble,
    "corrupt": _corrupt_page,
    "only the wal is left": _only_wal,
    "everything deleted": _everything,
    "everything and the sockets": _with_sockets(_everything),
    "deleted with the sockets": _with_sockets(delete),
}


@pytest.mark.parametrize("how", ["stopped", "killed"])
@pytest.mark.parametrize("what", WHILE_DOWN)
def test_a_store_lost_while_the_daemon_is_down(lit: Engine, what: str, how: str) -> None:
    session, main = started(lit)
    (stop if how == "stopped" else kill)(lit)
    assert store(lit, "-wal").exists() is (how == "killed")
    WHILE_DOWN[what](lit)
    assert alive_ids(lit) == [session]
    assert lit.show(session)["name"] == "worker"
    assert lit.show(session)["command"][:2] == ["sleep", "300"]
    found = findings(lit)["store"]
    assert found["state"] == "bad"
    assert [event for event in lit.events() if event["action"] == "store lost"]
    listed = lit.cli("ls")
    assert "what was left of it is in" in listed.stdout + listed.stderr
    check_everything_ends(lit, session, main)


@pytest.mark.parametrize("what", [_truncate, _overwrite])
def test_a_file_damaged_under_the_running_daemon(lit: Engine, what: Callable[[Engine], None]) -> None:
    session, main = started(lit)
    what(lit)

    def listed() -> bool:
        try:
            remember(lit, "after the damage")
            return remembered(lit)[:1] == ["after the damage"] and alive_ids(lit) == [session]
        except LampError as error:
            if error.code is not Code.STORE_LOST:
                raise
            return False

    assert wait_until(listed, 60)
    lit.kill(lit.daemon())
    assert "after the damage" in remembered(lit)
    assert findings(lit)["store"]["state"] == "bad"
    check_everything_ends(lit, session, main)


def test_a_first_start_is_no_loss(lit: Engine) -> None:
    assert findings(lit)["store"]["state"] == "ok"
    session, _ = started(lit)
    stop(lit)
    assert alive_ids(lit) == [session]
    assert findings(lit)["store"]["state"] == "ok"
    assert not [event for event in lit.events() if event["action"].startswith("store")]


def test_a_read_only_state_folder(lit: Engine) -> None:
    session, main = started(lit)
    lit.folder.chmod(0o500)
    try:
        lit.kill(lit.daemon())
        assert alive_ids(lit) == [session]
        killed = lit.call("kill_session", session=session, force=True, grace="0s")
        assert killed["state"] == "ended"
        assert not alive(*main)
    finally:
        lit.folder.chmod(0o700)


# -- what is restored


def test_a_snapshot_is_restored_over_an_unusable_file_alone(lit: Engine) -> None:
    session, main = started(lit)
    remember(lit, "in the snapshot")
    token = lit.call("create_token", name="outside", scope="read")
    assert token["secret"]
    restart(lit)
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in snapshots(lit))
    last = max(event["n"] for event in lit.events())
    remember(lit, "after the snapshot")
    other, _ = started(lit, "newer")
    stop(lit)
    garble(lit)
    damaged = store(lit).read_bytes()
    assert sorted(alive_ids(lit)) == sorted([session, other])
    assert lit.show(other)["name"] == "newer"
    assert remembered(lit) == ["in the snapshot"]
    found = findings(lit)["store"]
    assert found["state"] == "bad"
    assert "snapshot" in found["found"]
    kept = list((lit.folder / "lost").rglob("lamplighter.db"))
    assert [path.read_bytes() for path in kept] == [damaged]
    tokens = {one["name"]: one["state"] for one in lit.call("list_tokens")["tokens"]}
    assert tokens == {"outside": "revoked"}
    assert min(event["n"] for event in lit.events() if event["action"] == "store lost") > last + 100
    lit.call("kill_session", session=other, force=True, grace="0s")
    check_everything_ends(lit, session, main)


def test_a_key_of_before_the_loss_is_not_carried_out_again(lit: Engine) -> None:
    session, main = started(lit)
    key = new_key()
    remember_with: dict[str, Any] = {"everywhere": True, "records": [{"content": "only once"}]}
    lit.call("store_records", key=key, **remember_with)
    stop(lit)
    delete(lit)
    with pytest.raises(LampError) as unknown:
        lit.call("store_records", key=key, **remember_with)
    assert unknown.value.code is Code.OUTCOME_UNKNOWN
    assert remembered(lit) == []
    remember(lit, "a new call")
    lit.call("store_records", key=new_key(), **remember_with)
    assert remembered(lit) == ["a new call", "only once"]
    check_everything_ends(lit, session, main)


def test_what_has_no_process_any_more_is_lost(lit: Engine) -> None:
    session, _ = started(lit)
    restart(lit)
    lit.call("kill_session", session=session, force=True, grace="0s")
    stop(lit)
    shutil.rmtree(lit.folder / "sessions" / session)
    garble(lit)
    assert alive_ids(lit) == []
    assert lit.show(session)["ending"]["how"] == "lost"


@EVERY_STEP
def test_a_daemon_killed_at_any_step_of_restoring_begins_again(mortal: Engine, every: int) -> None:
    """And at any step of the enrolment that follows."""
    session, main = started(mortal)
    remember(mortal, "in the snapshot")
    restart(mortal)
    for death in deaths(mortal, every, least=20):
        last = max(event["n"] for event in mortal.events())
        stop(mortal)
        garble(mortal)
        damaged = store(mortal).read_bytes()
        death.arm()
        assert alive_ids(mortal) == [session]
        assert remembered(mortal) == ["in the snapshot"]
        assert findings(mortal)["store"]["state"] == "bad"
        told = [event for event in mortal.events() if event["action"] == "store lost" and event["n"] > last]
        assert len(told) == 1
        kept = mortal.folder / "lost" / told[0]["detail"]["kept"] / "lamplighter.db"
        assert kept.read_bytes() == damaged
    check_everything_ends(mortal, session, main)


def test_forgetting_for_good_reaches_what_is_kept_beside_the_store(lit: Engine) -> None:
    remember(lit, "the colour is vermilion")
    restart(lit)
    record = lit.call("list_records", all=True)["records"][0]["id"]
    lit.call("update_record", records=[record], action="forget", hard=True)
    for path in lit.folder.rglob("*"):
        if path.is_file() and path.name not in ("daemon.log", "keeper.log"):
            assert b"vermilion" not in path.read_bytes(), path


def test_a_card_with_words_that_are_forgotten_goes(tmp_path: Path) -> None:
    for name, text in (("one", 'say "vermilion"'), ("other", "nothing of it")):
        (tmp_path / name).mkdir()
        (tmp_path / name / CARD).write_text(json.dumps({"command": [text]}))
    forget_words(str(tmp_path), ['"vermilion"'])
    assert [path.parent.name for path in tmp_path.rglob(CARD)] == ["other"]


# -- a cleanup that was planned before the loss


def jobs(lit: Engine) -> list[str]:
    return [started(lit, f"job-{number}")[0] for number in range(3)]


def planned(lit: Engine) -> str:
    return lit.call("cleanup_sessions", selection="job-*", force=True, grace="0s")["plan"]


def check_nothing_began(lit: Engine, found: list[str], plan: str, key: str = "") -> None:
    """Its apply says what to do instead, and not one row of it is begun; a new plan is applied as ever."""
    assert findings(lit)["store"]["state"] == "bad"
    with pytest.raises(LampError) as lost:
        lit.call("cleanup_sessions", apply=plan, key=key or new_key())
    assert lost.value.code in (Code.PLAN_EXPIRED, Code.NOT_FOUND)
    assert "store was lost" in f"{lost.value.message}; {lost.value.hint}"
    assert "make a new one" in lost.value.hint
    assert sorted(alive_ids(lit)) == sorted(found)
    assert not [event for event in lit.events() if event["action"] in ("end", "kill", "ended")]
    assert lit.call("cleanup_sessions", apply=planned(lit))["sums"]["ended"] == len(found)


@pytest.mark.parametrize("kept", [True, False], ids=["in the snapshot", "made after it"])
def test_a_plan_of_before_the_loss_is_not_applied(lit: Engine, kept: bool) -> None:
    found = jobs(lit)
    restart(lit)
    plan = planned(lit)
    if kept:
        restart(lit)
    stop(lit)
    garble(lit)
    check_nothing_began(lit, found, plan)


@pytest.mark.parametrize(("begun", "key"), [(0, ""), (1, ""), (1, "k")])
def test_an_apply_that_a_loss_cut_off_begins_no_further_row(lit: Engine, begun: int, key: str) -> None:
    """The snapshot has it as it is being applied, with some rows done: nobody knows what became of the others since."""
    found, plan = jobs(lit), planned(lit)
    stop(lit)
    with sqlite3.connect(store(lit)) as db:
        db.execute("UPDATE plans SET state = 'applying', applied_at = made_at, orders = json_set(orders, '$.key', 'k')")
        done = "UPDATE plan_rows SET outcome = ? WHERE session = ?"
        db.executemany(done, [(json.dumps({"outcome": "skipped"}), one) for one in found[:begun]])
    db.close()
    (lit.folder / "snapshots").mkdir(mode=0o700, exist_ok=True)
    shutil.copy(store(lit), lit.folder / "snapshots" / f"{9:014d}.db")
    for other in snapshots(lit)[1:]:
        other.unlink()
    garble(lit)
    check_nothing_began(lit, found, plan, key)


@pytest.mark.parametrize("what", WHILE_RUNNING)
def test_files_that_go_between_a_plan_and_its_apply_cost_neither(lit: Engine, what: str) -> None:
    """What the daemon had open still has everything: the plan is applied to its rows, once."""
    found, plan = jobs(lit), planned(lit)
    WHILE_RUNNING[what](lit)
    other, main = started(lit, "another")
    done = lit.call("cleanup_sessions", apply=plan)
    assert [(row["id"], row["outcome"]) for row in done["rows"]] == [(one, "ended") for one in sorted(found)]
    with pytest.raises(LampError) as applied:
        lit.call("cleanup_sessions", apply=plan)
    assert applied.value.code is Code.PLAN_APPLIED
    check_everything_ends(lit, other, main)
