"""The page's memory: records found and closed, loops, the packet that is only looked at, hand-offs, lines of sessions.

One engine for all of them, a project each."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.browser import PHONE, Visit, axe
from tests.support.engine import Engine, engine

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.browser
TABS = {
    "records": "article",
    "loops": "article",
    "packet": ".packet pre",
    "handoffs": ".handoffs li",
    "lineage": ".node",
}
TRICK = "<img src=x onerror=alert(1)><script>alert(2)</script>"


@pytest.fixture(scope="module")
def lit() -> Iterator[Engine]:
    with engine(LAMPLIGHTER_HTTP_PORT="0") as made:
        yield made


def go(visit: Visit, where: str) -> Page:
    visit.page.evaluate("where => { location.hash = where }", where)
    return visit.page


def keep(lit: Engine, project: str, *contents: str, **facts: Any) -> list[str]:
    found = lit.call("store_records", project=project, records=[{"content": text, **facts} for text in contents])
    return [one["id"] for one in found["records"]]


def hand_over(lit: Engine, project: str, name: str, before: str | None = None, **words: Any) -> str:
    more = {"from_session": before, "force": True} if before else {}
    session = lit.start("sleep", "300", name=name, project=project, **more)["id"]
    lit.call("end_session", session=session, grace="0s", **words)
    return session


def state_of(lit: Engine, record: str) -> str | None:
    found = lit.call("list_records", all=True, state="all")["records"]
    return next((one["state"] for one in found if one["id"] == record), None)


ORDER = """small => {
    const text = document.createTreeWalker(small, NodeFilter.SHOW_TEXT).nextNode(), range = document.createRange();
    return [...text.data].map((letter, at) => {
        range.setStart(text, at);
        range.setEnd(text, at + 1);
        return [range.getBoundingClientRect().x, letter];
    }).sort(([one], [other]) => one - other).map(([, letter]) => letter).join("");
}"""


def card(page: Page, record: str) -> Locator:
    return page.get_by_role("article").filter(has_text=record)


def test_an_empty_memory_says_what_to_do(served: Engine, page_of: Callable[..., Visit]) -> None:
    from playwright.sync_api import expect

    page = go(page_of(served), "#/memory")
    expect(page.get_by_text("No records yet")).to_be_visible()
    expect(page.get_by_text("lamp remember")).to_be_visible()
    page.keyboard.press("a")
    page.get_by_label("What is to be known").fill("never push to main")
    page.get_by_label(re.compile("^Type")).select_option("constraint")
    page.get_by_label("Which project").fill("shop")
    page.get_by_role("button", name="Store").click()
    expect(page.get_by_role("article")).to_contain_text("never push to main")
    assert served.call("list_records", project="shop")["records"][0]["type"] == "constraint"


def test_a_path_is_drawn_from_its_first_letter_to_its_last(lit: Engine, page_of: Callable[..., Visit]) -> None:
    """Of one that is too long its end is seen; the slash that it begins with stays where it is."""
    folder = lit.folder / "drawn"
    folder.mkdir()
    keep(lit, str(folder), "kept there")
    page = go(page_of(lit), "#/memory")
    path = page.get_by_role("navigation", name="Projects").locator("small", has_text=str(folder))
    assert path.evaluate(ORDER) == str(folder)


def test_records_are_found_and_closed(lit: Engine, page_of: Callable[..., Visit]) -> None:
    from playwright.sync_api import expect

    done, old, wrong, secret = keep(lit, "shop", "ask Mara", "dates are strings", "the moon is cheese", TRICK)
    keep(lit, "mill", "somewhere else")
    page = go(page_of(lit), "#/memory")
    expect(page.get_by_role("article").filter(has_text="somewhere else")).to_be_visible()
    page.get_by_role("navigation", name="Projects").get_by_text("shop").click()
    expect(page.get_by_role("article")).to_have_count(4)
    expect(card(page, secret)).to_contain_text(TRICK)
    assert page.locator("article img, article script").count() == 0

    page.keyboard.press("/")
    page.keyboard.type("datés string")
    expect(page.get_by_role("article")).to_have_count(1)
    expect(page.locator("mark")).to_have_text(["dates", "strings"])
    page.get_by_role("button", name=f"Supersede {old}").click()
    page.get_by_label("Replacement").fill("dates are dates now")
    page.get_by_role("button", name="Supersede", exact=True).click()
    expect(page.get_by_role("article")).to_contain_text("dates are dates now")
    assert state_of(lit, old) == "superseded"

    page.get_by_role("searchbox").fill("")
    page.get_by_role("button", name=f"Resolve {done}").click()
    page.get_by_label("How was it resolved?").fill("she said yes")
    page.get_by_role("button", name="Resolve", exact=True).click()
    expect(card(page, done)).to_have_count(0)
    page.get_by_label("State").select_option("resolved")
    expect(card(page, done)).to_contain_text("she said yes")

    page.get_by_label("State").select_option("active")
    page.get_by_role("button", name=f"Forget {wrong}").click()
    page.get_by_role("button", name="Forget", exact=True).click()
    expect(card(page, wrong)).to_have_count(0)
    assert state_of(lit, wrong) == "forgotten"


def test_deleting_for_good_is_a_deliberate_act(lit: Engine, page_of: Callable[..., Visit]) -> None:
    from playwright.sync_api import expect

    (record,) = keep(lit, "oblivion", "a thing to be gone for good")
    page = go(page_of(lit), "#/memory?project=oblivion")
    page.get_by_role("button", name=f"Forget {record}").click()
    page.get_by_role("button", name="Delete permanently…").click()
    delete = page.get_by_role("button", name="Delete permanently")
    expect(delete).to_be_disabled()
    page.get_by_role("textbox", name=f"Type {record}").fill(record[:-1])
    expect(delete).to_be_disabled()
    page.keyboard.press("Enter")
    assert state_of(lit, record) == "active", "half of the id is not enough"
    page.get_by_role("textbox", name=f"Type {record}").fill(record)
    delete.click()
    expect(page.get_by_text("Deleted permanently")).to_be_visible()
    assert state_of(lit, record) is None


def test_what_others_store_appears_by_itself_and_loops_say_how_often_they_were_carried(
    lit: Engine, page_of: Callable[..., Visit]
) -> None:
    from playwright.sync_api import expect

    first = hand_over(lit, "loops", "first", open_loops=["who owns the fixtures?"], checkpoint="half")
    page = go(page_of(lit), "#/memory/loops?project=loops")
    expect(page.get_by_role("article")).to_contain_text("not carried yet")
    hand_over(lit, "loops", "second", first, open_loops=["and the docs?"])
    expect(page.get_by_role("article")).to_have_count(2)
    expect(page.get_by_role("article").first).to_contain_text("carried 1 time")
    expect(page.get_by_role("article").first).to_contain_text("who owns the fixtures?")


def test_a_packet_is_looked_at_without_a_receipt(lit: Engine, page_of: Callable[..., Visit]) -> None:
    from playwright.sync_api import expect

    keep(lit, "packets", *(f"decision {number}: {'because ' * 20}" for number in range(12)), type="decision")
    keep(
        lit,
        "packets",
        *(f"never do thing {number} at all, whoever asks for it" for number in range(8)),
        type="constraint",
    )
    visit = page_of(lit)
    visit.expects("400 (Bad Request)")  # which is how a budget that is too small is refused
    page = go(visit, "#/memory/packet?project=packets&budget=20000")
    text = page.get_by_label("Text of the packet")
    expect(text).to_contain_text("decision 11")
    expect(page.get_by_text("Nothing. Everything fits.")).to_be_visible()
    page.get_by_role("spinbutton", name="Budget").fill("2000")
    page.keyboard.press("Enter")
    expect(page.get_by_role("row").filter(has_text="decisions")).to_be_visible()
    page.get_by_role("spinbutton", name="Budget").fill("100")
    page.keyboard.press("Enter")
    page.get_by_role("button", name=re.compile(r"Use \d+")).click()
    expect(text).to_contain_text("never do thing 7")
    with closing(sqlite3.connect(lit.home.database)) as db, db:
        assert db.execute("SELECT count(*) FROM receipts WHERE project = 'packets'").fetchone()[0] == 0


def test_hand_offs_and_the_line_they_made(lit: Engine, page_of: Callable[..., Visit]) -> None:
    from playwright.sync_api import expect

    first = hand_over(lit, "lines", "first", checkpoint="half of it")
    second = hand_over(lit, "lines", "second", first, checkpoint="most of it", succession_policy="successor_required")
    fork = hand_over(lit, "lines", "fork", first, checkpoint="another way")
    page = go(page_of(lit), "#/memory/handoffs?project=lines")
    waiting = page.get_by_role("region", name="Needs a successor")
    expect(waiting.get_by_role("link", name="second")).to_have_attribute("href", f"#/sessions/{second}/handoff")
    others = page.get_by_role("region", name="Other hand-offs")
    expect(others.locator("a.name")).to_have_text(["fork", "first"])
    others.get_by_role("link", name="lineage").last.click()
    nodes = page.locator(".node")
    expect(nodes).to_have_count(3)
    expect(nodes.first).to_have_attribute("aria-current", "true")
    places = {name: page.locator(f'.node[href="#/sessions/{name}"]').bounding_box() for name in (first, second, fork)}
    begin, straight, other = (places[name] for name in (first, second, fork))
    assert begin
    assert straight
    assert other
    assert straight["y"] == begin["y"] < other["y"], "a fork has a row of its own"
    assert straight["x"] == other["x"] > begin["x"], "the next generation is to the right"


def test_it_is_readable_on_a_phone_and_by_a_screen_reader(lit: Engine, page_of: Callable[..., Visit]) -> None:
    from playwright.sync_api import expect

    first = hand_over(lit, "phone", "first", open_loops=["who owns the fixtures?"], checkpoint="x" * 300)
    hand_over(lit, "phone", "second", first, checkpoint="y")
    keep(lit, "phone", "long " * 300 + "/a/very/long/path" * 20, files=["src/parser.py"])
    visit = page_of(lit, viewport=PHONE)
    for tab, there in TABS.items():
        page = go(visit, f"#/memory/{tab}?project=phone")
        expect(page.locator(there).first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], tab
        assert page.locator("h1").count() == 1
        for scheme in ("dark", "light"):
            page.emulate_media(color_scheme=scheme)
            expect(page.locator(f"html[data-theme={scheme}]")).to_be_visible()
            assert axe(page) == [], f"{tab}, {scheme}"
