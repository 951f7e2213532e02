"""Records by the real daemon: stored once, found, closed and never overwritten, forgotten for good, taken elsewhere."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import threading
import uuid
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lamplighter.domain.token import make_secret
from lamplighter.errors import LampError
from tests.support.engine import Engine, engine
from tests.support.fixtures import EVERY_STEP
from tests.support.mortality import FOLDER as MORTAL
from tests.support.mortality import deaths
from tests.support.processes import wait_until

pytestmark = pytest.mark.shared


def keep(lit: Engine, *contents: str, key: str | None = None, **facts: Any) -> list[dict[str, Any]]:
    """Each in the project `shop`, unless it is said to be elsewhere."""
    place = {name: facts.pop(name) for name in ("project", "everywhere", "folder") if name in facts} or {
        "project": "shop"
    }
    wanted = [{"content": content, **facts} for content in contents]
    return lit.call("store_records", key=key, records=wanted, **place)["records"]


def contents(found: dict[str, Any]) -> list[str]:
    return [record["content"] for record in found["records"]]


def refused(lit: Engine, operation: str, **arguments: Any) -> LampError:
    with pytest.raises(LampError) as error:
        lit.call(operation, **arguments)
    return error.value


def in_a_session(lit: Engine, *words: str, cwd: str = "/", **arguments: Any) -> subprocess.CompletedProcess[str]:
    """The real command, run by a session and so by an agent."""
    name = f"agent-{uuid.uuid4().hex[:6]}"
    out = lit.folder / name
    script = f'{lit.python} -m lamplighter.frontends.cli.main "$@" >{out} 2>&1; echo $? >{out}.status'
    environment = {**lit.environment, "PATH": lit.environment["PATH"]}
    started = lit.start("sh", "-c", script, "sh", *words, headless=True, cwd=cwd, environment=environment, **arguments)
    lit.call("wait_session", session=started["id"], until="ended", timeout="120s")
    status = int(Path(f"{out}.status").read_text())
    return subprocess.CompletedProcess(words, status, out.read_text(), started["id"])


# -- storing


def test_what_is_stored_is_found_and_the_same_is_stored_once(lit: Engine) -> None:
    first = lit.call(
        "store_records",
        project="shop",
        records=[
            {"content": "dates stay strings", "type": "decision"},
            {"content": "never touch the lexer", "type": "constraint"},
        ],
    )
    assert (first["stored"], first["project"]) == (2, "shop")
    decision, constraint = first["records"]
    assert (decision["category"], decision["importance"]) == ("context", 7)
    assert (constraint["category"], constraint["importance"], constraint["source"]) == ("lesson", 9, "operator")
    again = lit.call("store_records", project="shop", records=[{"content": " dates stay strings ", "type": "decision"}])
    assert (again["stored"], again["records"][0]["id"]) == (0, decision["id"])
    assert keep(lit, "dates stay strings", type="note")[0]["id"] != decision["id"]
    assert keep(lit, "dates stay strings", type="decision", everywhere=True)[0]["id"] != decision["id"]
    assert contents(lit.call("search_records", query="the string of a date", project="shop", types=["decision"])) == [
        "dates stay strings",
        "dates stay strings",
    ]


def test_the_same_key_stores_once_also_when_what_it_stored_is_closed_since(lit: Engine) -> None:
    first = keep(lit, "one", "two", key="k")
    lit.call("update_record", action="resolve", records=[first[0]["id"]])
    assert [record["id"] for record in keep(lit, "one", "two", key="k")] == [record["id"] for record in first]
    assert lit.call("list_records", project="shop", state="all")["total"] == 2
    assert refused(lit, "store_records", key="k", records=[{"content": "three"}], project="shop").code == "KEY_REUSED"


def test_what_a_record_names_is_stale_only_once_it_has_changed(lit: Engine, tmp_path: Path) -> None:
    """Also a file that is large, and one outside the folder, of which nothing is ever claimed."""
    folder = tmp_path / "shop"
    folder.mkdir()
    large, outside = folder / "large.bin", tmp_path / "outside.txt"
    large.write_bytes(bytes(2 << 20))
    outside.write_text("as it was")
    keep(lit, "rests on files", folder=str(folder), files=["large.bin", str(outside)])
    assert [one["stale"] for one in lit.call("list_records", folder=str(folder))["records"]] == [[]]
    large.write_bytes(bytes(3 << 20))
    outside.write_text("other")
    (found,) = lit.call("list_records", folder=str(folder))["records"]
    assert found["stale"] == ["large.bin has changed since"]


def test_secrets_are_taken_out_and_what_is_private_is_not_stored(lit: Engine) -> None:
    secret = "ghp_" + "a1B2" * 9
    result = lit.call(
        "store_records", everywhere=True, records=[{"content": f"token {secret} works <private>for me</private>"}]
    )
    assert (result["redacted"], result["withheld"]) == (1, 1)
    assert secret not in result["records"][0]["content"]
    assert refused(lit, "store_records", everywhere=True, records=[{"content": "<private>all"}]).code == "BAD_INPUT"
    why = refused(lit, "store_records", everywhere=True, records=[{"content": "fine"}, {"content": " \n"}])
    assert "record 2" in why.message
    assert lit.call("list_records")["total"] == 1
    assert secret.encode() not in b"".join(path.read_bytes() for path in lit.folder.glob("lamplighter.db*"))


def test_any_text_can_be_stored_and_found(lit: Engine) -> None:
    for text in ("a\0b", "half \ud800 of it", "\U0001f600 é 東京", "x" * 20_000, '"quoted" \\ \n lines'):
        (record,) = keep(lit, text)
        assert lit.call("search_records", query=text, project="shop")["records"][0]["id"] == record["id"]


def test_bad_input_stores_nothing(lit: Engine) -> None:
    wrong: list[dict[str, Any]] = [
        {"records": []},
        {"records": [{"content": "x"}] * 101},
        {"records": [{"content": "x" * 20_001}]},
        {"records": [{"content": "x", "type": "opinion"}]},
        {"records": [{"content": "x", "importance": 11}]},
        {"records": [{"content": "x", "category": "food"}]},
        {"records": [{"content": "x"}], "everywhere": True},
        {"records": [{"content": "x"}], "project": "/no/such/folder"},
        {"records": [{"content": "x"}], "project": "a b"},
    ]
    for each in wrong:
        error = refused(lit, "store_records", **{"project": "shop", **each})
        assert error.code in ("BAD_INPUT", "BAD_NAME", "NO_SUCH_FOLDER"), each
    assert lit.call("list_records", all=True)["total"] == 0


# -- projects


def repository(folder: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    run = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*run, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    return folder


def test_work_trees_are_one_project_and_namesakes_are_two(lit: Engine, tmp_path: Path) -> None:
    one, other = repository(tmp_path / "a" / "shop"), repository(tmp_path / "b" / "shop")
    tree = tmp_path / "elsewhere"
    subprocess.run(["git", "-C", str(one), "worktree", "add", "-q", str(tree)], check=True)
    (tree / "deep").mkdir()
    keep(lit, "of one", folder=str(one))
    keep(lit, "of the other", folder=str(other))
    assert contents(lit.call("list_records", folder=str(tree / "deep"))) == ["of one"]
    assert lit.call("list_records", folder=str(tree))["project_name"] == "shop"
    assert contents(lit.call("list_records", project=str(other))) == ["of the other"]
    assert contents(lit.call("list_records", project=".", folder=str(one))) == ["of one"]
    assert contents(lit.call("list_records", project=str(one / ".git"))) == ["of one"]
    ambiguous = refused(lit, "list_records", project="shop")
    assert ambiguous.code == "AMBIGUOUS"
    assert str(one / ".git") in ambiguous.message
    assert str(other / ".git") in ambiguous.message
    assert refused(lit, "list_records", project="unheard-of").code == "NOT_FOUND"
    session = lit.show(lit.start("cat", cwd=str(tree / "deep"))["id"])
    assert session["project"] == "shop"


def test_a_folder_in_no_repository_is_a_project_of_its_own(lit: Engine, tmp_path: Path) -> None:
    (tmp_path / "notes" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "notes")
    keep(lit, "here", folder=str(tmp_path / "notes"))
    assert contents(lit.call("list_records", folder=str(tmp_path / "link"))) == ["here"]
    assert contents(lit.call("list_records", folder=str(tmp_path / "notes" / "deep"))) == []
    assert contents(lit.call("list_records", project="notes")) == ["here"]


def test_a_session_that_was_told_its_project_keeps_records_there(lit: Engine, tmp_path: Path) -> None:
    done = in_a_session(lit, "remember", "by an agent", cwd=str(tmp_path))
    assert done.returncode == 0, done.stdout
    (record,) = lit.call("list_records", folder=str(tmp_path), source="agent")["records"]
    assert (record["content"], record["session"]) == ("by an agent", done.stderr)
    told = in_a_session(lit, "remember", "by another", cwd=str(tmp_path), project="other")
    (record,) = lit.call("list_records", project="other", source="agent")["records"]
    assert (record["content"], record["session"]) == ("by another", told.stderr)


# -- finding


def test_a_list_is_of_the_project_and_of_what_holds_everywhere(lit: Engine) -> None:
    keep(lit, "of shop")
    keep(lit, "of mill", project="mill")
    keep(lit, "of all", everywhere=True)
    (done,) = keep(lit, "done", type="open_loop")
    lit.call("update_record", action="resolve", records=[done["id"]], why="in 4f2a91c")

    def listed(**arguments: Any) -> list[str]:
        return sorted(contents(lit.call("list_records", **arguments)))

    assert listed(project="shop") == ["of all", "of shop"]
    assert listed(everywhere=True) == ["of all"]
    assert listed(all=True) == ["of all", "of mill", "of shop"]
    assert listed(project="shop", state="resolved") == ["done"]
    assert listed(project="shop", state="all", types=["open_loop"]) == ["done"]
    assert listed(project="shop", after="1h") == ["of all", "of shop"]
    assert listed(project="shop", before="2020-01-01") == []
    assert listed(all=True, source="agent") == []
    page = lit.call("list_records", all=True, limit=1, offset=1)
    assert (contents(page), page["total"]) == (["of mill"], 3)
    assert refused(lit, "list_records", all=True, project="shop").code == "BAD_INPUT"
    assert refused(lit, "list_records", after="soon").code == "BAD_INPUT"


def test_any_text_is_a_query_but_an_empty_one(lit: Engine) -> None:
    keep(lit, "of shop")
    for text in ('"', "AND OR NOT", "NEAR(", "*", "\ud800", "🔥", "a" * 100_000, "'; DROP TABLE records;--"):
        assert lit.call("search_records", query=text, project="shop")["sessions"] == []
    for text in ("", "  ", "\0\0", "\n"):
        error = refused(lit, "search_records", query=text)
        assert (error.code, error.message) == ("BAD_INPUT", "there is nothing to search for")


def test_a_session_that_has_ended_is_found_and_said_to_be_one(lit: Engine, tmp_path: Path) -> None:
    session = lit.start("cat", cwd=str(tmp_path), name="mender")["id"]
    lit.call("end_session", session=session, checkpoint="the zebra parser reads all but dates")
    lit.call("wait_session", session=session, until="ended", timeout="120s")
    found = lit.call("search_records", query="zebras", folder=str(tmp_path))
    assert [record["type"] for record in found["records"]] == ["checkpoint"]
    assert [one["id"] for one in found["sessions"]] == [session]
    assert "zebra" in found["sessions"][0]["summary"]


# -- closing


def test_nothing_is_overwritten(lit: Engine) -> None:
    (old,) = keep(lit, "dates stay strings", type="decision", importance=3)
    new, before = lit.call("update_record", action="supersede", records=[old["id"]], content="dates have zones")[
        "records"
    ]
    assert (new["supersedes"], new["type"], new["importance"], new["project"]) == (old["id"], "decision", 3, "shop")
    assert (before["state"], before["superseded_by"], before["content"]) == (
        "superseded",
        new["id"],
        "dates stay strings",
    )
    for action, more in (("supersede", {"content": "x"}), ("resolve", {})):
        error = refused(lit, "update_record", action=action, records=[old["id"]], **more)
        assert error.code == "NOT_ACTIVE"
        assert new["id"] in error.hint
    (resolved,) = lit.call("update_record", action="resolve", records=[new["id"][:10]], why="done")["records"]
    assert (resolved["state"], resolved["closed_why"], resolved["closed_by"]) == ("resolved", "done", "operator")
    again = lit.call("update_record", action="resolve", records=[new["id"]], why="again")["records"]
    assert again == [resolved]
    (forgotten,) = lit.call("update_record", action="forget", records=[new["id"]])["records"]
    assert forgotten["state"] == "forgotten"
    assert lit.call("search_records", query="zones", project="shop", state="all")["records"] == []


def test_several_are_closed_or_none(lit: Engine) -> None:
    one, two = keep(lit, "one", "two")
    error = refused(lit, "update_record", action="resolve", records=[one["id"], "rnope"])
    assert error.code == "NOT_FOUND"
    assert refused(lit, "update_record", action="resolve", records=["r"]).code == "AMBIGUOUS"
    assert refused(lit, "update_record", action="forget", records=[""]).code == "NOT_FOUND"
    assert lit.call("list_records", project="shop")["total"] == 2
    closed = lit.call("update_record", action="resolve", records=[one["id"], two["id"], one["id"]])["records"]
    assert [record["state"] for record in closed] == ["resolved"] * 3


def test_what_does_not_go_with_the_action_is_refused(lit: Engine) -> None:
    (record,) = keep(lit, "one")
    wrong: list[dict[str, Any]] = [
        {"action": "supersede"},
        {"action": "supersede", "content": "x", "records": ["a", "b"]},
        {"action": "resolve", "content": "x"},
        {"action": "resolve", "hard": True},
        {"action": "forget", "type": "note"},
        {"action": "erase"},
    ]
    for each in wrong:
        assert refused(lit, "update_record", **{"records": [record["id"]], **each}).code == "BAD_INPUT", each
    assert lit.call("list_records", project="shop")["total"] == 1


def test_an_agent_cannot_close_what_the_operator_stored(lit: Engine) -> None:
    (mine,) = keep(lit, "never touch the lexer", type="constraint")
    for words in (("resolve", mine["id"]), ("supersede", mine["id"], "touch it"), ("forget", mine["id"])):
        done = in_a_session(lit, *words)
        assert (done.returncode, "FORBIDDEN" in done.stdout) == (6, True), done.stdout
    assert in_a_session(lit, "remember", "--project", "shop", "the lexer is slow").returncode == 0
    theirs = next(
        record for record in lit.call("list_records", project="shop")["records"] if record["source"] == "agent"
    )
    hard = in_a_session(lit, "forget", "--hard", theirs["id"])
    assert (hard.returncode, "FORBIDDEN" in hard.stdout) == (6, True)
    assert in_a_session(lit, "import", "/dev/null").returncode == 6
    assert in_a_session(lit, "resolve", theirs["id"]).returncode == 0
    assert contents(lit.call("list_records", project="shop")) == ["never touch the lexer"]
    assert [event["action"] for event in lit.events()].count("refused") >= 1


def test_an_agent_cannot_close_the_operators_loop_with_a_handoff_either(lit: Engine) -> None:
    (mine,) = keep(lit, "who signs the release?", type="open_loop")
    for word in ("--resolved", "--dropped"):
        done = in_a_session(lit, "handoff", "--save", "--checkpoint", "half way", word, mine["id"])
        assert (done.returncode, "FORBIDDEN" in done.stdout) == (6, True), done.stdout
    assert lit.call("list_records", all=True, types=["checkpoint"])["total"] == 0
    assert contents(lit.call("list_records", project="shop")) == ["who signs the release?"]
    session = lit.start("cat")["id"]
    left = lit.call("hand_off", session=session, open_loops=["and the fixtures?"], resolved_loops=[mine["id"]])
    assert left["resolved"] == [mine["id"]]


def test_an_inferred_note_becomes_a_constraint_when_it_is_confirmed(lit: Engine, tmp_path: Path) -> None:
    session = lit.start("sh", "-c", "echo never touch the vendored lexer; exit 3", cwd=str(tmp_path))["id"]
    lit.call("wait_session", session=session, until="ended", timeout="120s")
    found = lit.call("list_records", source="inferred", folder=str(tmp_path))["records"]
    notes = [record for record in found if record["source"] == "inferred"]
    assert notes
    assert all(record["type"] != "constraint" for record in notes)
    new, _ = lit.call(
        "update_record", action="supersede", records=[notes[0]["id"]], content="never touch it", type="constraint"
    )["records"]
    assert (new["type"], new["category"], new["source"]) == ("constraint", "lesson", "operator")


# -- forgetting for good


def bytes_of(lit: Engine) -> bytes:
    """Every file of the store, and the sessions' own."""
    return b"".join(path.read_bytes() for path in lit.folder.rglob("*") if path.is_file() and path.name != "daemon.log")


def test_what_is_forgotten_hard_is_nowhere(lit: Engine, tmp_path: Path) -> None:
    word = "xylophonequartz"
    text = f"the {word} is kept in the blue cupboard — under the stairs"
    filler = [f"filler {number} {uuid.uuid4().hex * 8}" for number in range(100)]
    keep(lit, *filler)
    (record,) = keep(lit, text)
    keep(lit, *(f"more {each}" for each in filler))
    session = lit.start("cat", cwd=str(tmp_path))["id"]
    ended = lit.call("end_session", session=session, checkpoint=text, project="shop")
    lit.call("wait_session", session=session, until="ended", timeout="120s")
    assert ended["handoff"]["stored"]["checkpoint"] == 1
    found = lit.call("search_records", query=word, project="shop")["records"]
    assert len(found) == 2
    assert word.encode() in bytes_of(lit)
    ids = [one["id"] for one in found]
    result = lit.call("update_record", action="forget", hard=True, records=ids, key="gone")
    assert (sorted(result["erased"]), result["pending"]) == (sorted(ids), False)
    assert word.encode() not in bytes_of(lit)
    assert lit.call("update_record", action="forget", hard=True, records=ids, key="gone") == result
    assert refused(lit, "update_record", action="forget", records=[record["id"]]).code == "NOT_FOUND"
    assert lit.call("search_records", query=word, all=True, state="all")["records"] == []
    assert lit.call("search_records", query="filler", project="shop")["total"] == 200
    with closing(sqlite3.connect(f"file:{lit.home.database}?mode=ro", uri=True)) as db, db:
        assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


def test_forgetting_a_word_that_the_store_itself_uses_harms_nothing(lit: Engine) -> None:
    living = lit.start("sleep", "300", name="living")["id"]
    lit.call("hand_off", session=living, checkpoint="it stands here", succession_policy="successor_required")
    gone = lit.start("sleep", "301", name="gone")["id"]
    lit.call("end_session", session=gone, checkpoint="it stood there", grace="0s")
    asked: list[tuple[str, dict[str, Any]]] = [
        ("list_sessions", {"all": True}),
        ("list_handoffs", {}),
        ("get_lineage", {"session": living}),
        *(("get_session", {"session": one}) for one in (living, gone)),
    ]
    words = [
        "operator",
        "end_session",
        "sleep",
        "successor_required",
        "terminated",
        "killed",
        "asked",
        "tree",
        "kernel",
    ]
    ids = [one["id"] for one in keep(lit, *words, living, "closed_without_successor")]
    lit.call("update_record", action="forget", hard=True, records=ids)
    lit.kill(lit.daemon())
    for operation, arguments in asked:
        assert "[forgotten]" not in json.dumps(lit.call(operation, **arguments)), operation
    assert lit.show(living)["command"] == ["sleep", "300"]


def test_a_short_checkpoint_is_gone_with_the_summaries_that_quote_it(lit: Engine) -> None:
    session = lit.start("cat")["id"]
    lit.call("end_session", session=session, checkpoint="hunter2zq", grace="0s")
    (record,) = lit.call("search_records", query="hunter2zq", all=True)["records"]
    lit.call("update_record", action="forget", hard=True, records=[record["id"]])
    assert b"hunter2zq" not in bytes_of(lit)


def test_a_daemon_that_dies_while_it_forgets_goes_on_with_it(lit: Engine) -> None:
    """The rows are gone and their pages are not: the next start writes them anew."""
    word = "xylophonequartz"
    (record,) = keep(lit, f"the {word} is here")
    lit.kill(lit.daemon())
    assert wait_until(lambda: lit.call("get_status") is not None)
    lit.call("stop_daemon")
    with closing(sqlite3.connect(lit.home.database)) as db, db:
        db.execute("DELETE FROM records WHERE id = ?", (record["id"],))
        db.execute("DELETE FROM record_texts")
        db.execute("DELETE FROM calls")
        db.execute("INSERT INTO meta VALUES ('scour', 'x')")
    assert word.encode() in bytes_of(lit)
    lit.call("get_status")
    assert word.encode() not in bytes_of(lit)


# -- elsewhere and back


def exported(lit: Engine, *words: str) -> str:
    done = lit.cli("export", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_export_comes_back_the_same_in_another_home(lit: Engine, tmp_path: Path) -> None:
    one, two = keep(lit, "one é 東京 \n two", "three")
    keep(lit, "everywhere", everywhere=True, type="preference")
    keep(lit, "of mill", project="mill")
    lit.call("update_record", action="supersede", records=[one["id"]], content="better")
    lit.call("update_record", action="forget", records=[two["id"]], why="wrong")
    session = lit.start("cat", cwd=str(tmp_path))["id"]
    lit.call("hand_off", session=session, checkpoint="half way", open_loops=["and the rest?"], epitaph="well")
    text = exported(lit)
    assert text == exported(lit)
    assert {json.loads(line)["kind"] for line in text.splitlines()} == {"project", "handoff", "record"}
    file = tmp_path / "all.jsonl"
    file.write_text(text)
    with engine() as other:
        counts = other.call("import_records", file=str(file))
        assert (counts["records"], counts["handoffs"], counts["known"]) == (7, 1, 0)
        assert exported(other) == text
        again = other.call("import_records", file=str(file))
        assert (again["records"], again["known"]) == (0, len(text.splitlines()))
        assert exported(other) == text
        assert contents(other.call("search_records", query="better", project="shop")) == ["better"]
        assert other.call("list_records", all=True, state="forgotten")["total"] == 1
    only = exported(lit, "--project", "mill")
    assert [json.loads(line)["kind"] for line in only.splitlines()] == ["project", "record"]


def test_a_wrong_line_is_named_and_nothing_is_imported(lit: Engine, tmp_path: Path) -> None:
    keep(lit, "one")
    good = exported(lit).splitlines()
    record = json.loads(good[-1])
    fresh = {**record, "id": "r0000000000"}
    wrong = {
        "no json": "{",
        "no kind": "{}",
        "a list": "[]",
        "unknown field": json.dumps({**fresh, "more": 1}),
        "missing field": json.dumps({name: value for name, value in fresh.items() if name != "content"}),
        "wrong type": json.dumps({**fresh, "importance": "5"}),
        "wrong enum": json.dumps({**fresh, "state": "gone"}),
        "wrong id": json.dumps({**fresh, "id": "x"}),
        "empty": json.dumps({**fresh, "content": "<private>x</private>"}),
        "not a number": json.dumps(fresh).replace(str(record["created_at"]), "NaN"),
        "deep": "[" * 100_000,
        "other content": json.dumps({**record, "content": "something else"}),
        "not UTF-8": b"\xff".decode("latin-1"),
    }
    for name, line in wrong.items():
        file = tmp_path / "file"
        ok = json.dumps({**record, "id": "r0000000001", "content": "fine"})
        file.write_bytes("\n".join([ok, "", line]).encode("latin-1"))
        error = refused(lit, "import_records", file=str(file))
        assert (error.code, error.details["line"]) == ("BAD_INPUT", 3), name
        assert lit.call("list_records", all=True, state="all")["total"] == 1, name
    assert refused(lit, "import_records", file=str(tmp_path)).code == "BAD_INPUT"
    assert refused(lit, "import_records", file="/no/such").code == "BAD_INPUT"
    assert refused(lit, "import_records", file="/dev/zero").code == "BAD_INPUT"


def test_no_number_that_nothing_can_show_and_no_secret_in_any_field_is_imported(lit: Engine, tmp_path: Path) -> None:
    """One such number would keep lists, searches and packets from being shown ever after."""
    session = lit.start("cat")["id"]
    lit.call("hand_off", session=session, checkpoint="half way")
    things = {thing["kind"]: thing for thing in map(json.loads, exported(lit).splitlines())}
    record = {**things["record"], "id": "r0000000000", "content": "fine"}
    handoff = {**things["handoff"], "id": "h0000000000", "digest": "other"}
    project = {**things["project"], "id": "far", "name": "far"}
    file, secret = tmp_path / "file", make_secret()
    wrong = [
        *({**record, "created_at": time} for time in (1e300, -1e300, -1.0, 3e11)),
        {**record, "closed_at": 1e200},
        {**record, "carried": 10**30},
        {**handoff, "at": 1e300},
        {**handoff, "redacted": 10**30},
        {**project, "seen_at": 1e300},
    ]
    lines = [json.dumps(thing) for thing in wrong]
    for thing, name in ((handoff, "at"), (project, "seen_at"), (record, "created_at")):
        lines.append(json.dumps({**thing, name: 5.5}).replace("5.5", "1e999"))
    for line in lines:
        file.write_text(line)
        assert refused(lit, "import_records", file=str(file)).code == "BAD_INPUT", line
    cited = {"folder": "/", "files": [{"path": secret, "digest": None}], "commits": [secret]}
    good = [{**record, "by": secret, "evidence": cited}, {**handoff, "basis": [secret]}, {**project, "name": secret}]
    file.write_text("\n".join(map(json.dumps, good)))
    assert lit.call("import_records", file=str(file))["redacted"] == 5
    assert secret.encode() not in bytes_of(lit)
    file.write_text(exported(lit))
    assert lit.call("import_records", file=str(file))["redacted"] == 0


def test_an_import_is_cleaned_of_secrets_and_changes_nothing_that_is_there(lit: Engine, tmp_path: Path) -> None:
    (record,) = keep(lit, "one", type="open_loop")
    old = exported(lit)
    lit.call("update_record", action="resolve", records=[record["id"]])
    secret = "ghp_" + "a1B2" * 9
    more = {**json.loads(old.splitlines()[-1]), "id": "r0000000000", "content": f"use {secret}"}
    (tmp_path / "file").write_text(old + json.dumps(more) + "\n")
    counts = lit.call("import_records", file=str(tmp_path / "file"))
    assert (counts["records"], counts["known"], counts["redacted"]) == (1, 2, 1)
    assert lit.call("list_records", project="shop", state="resolved")["total"] == 1
    assert secret.encode() not in bytes_of(lit)


# -- deaths and crowds


@EVERY_STEP
def test_a_daemon_killed_at_any_step_stores_and_closes_once(every: int) -> None:
    with engine(PYTHONPATH=MORTAL) as made:
        for death in deaths(made, every, least=1):
            text = f"text {death.number}"
            (old,) = keep(made, f"old {text}")
            death.arm()
            (kept,) = keep(made, text, key=f"keep-{death.number}")
            changed = made.call(
                "update_record",
                key=f"change-{death.number}",
                action="supersede",
                records=[old["id"]],
                content=f"new {text}",
            )
            gone = made.call(
                "update_record", key=f"gone-{death.number}", action="forget", hard=True, records=[kept["id"]]
            )
            assert changed["records"][0]["supersedes"] == old["id"]
            assert gone["erased"] == [kept["id"]]
            found = made.call("list_records", project="shop", state="all", limit=1000)["records"]
            assert [one["content"] for one in found].count(f"new {text}") == 1
            assert text not in [one["content"] for one in found]


def test_twice_at_once_is_once(lit: Engine) -> None:
    lit.call("get_status")
    results: list[dict[str, Any]] = []

    def work(number: int) -> None:
        results.append(
            lit.call("store_records", project="shop", records=[{"content": "same"}, {"content": f"own {number}"}])
        )

    threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({result["records"][0]["id"] for result in results}) == 1
    assert sum(result["stored"] for result in results) == 13
    assert lit.call("list_records", project="shop")["total"] == 13
