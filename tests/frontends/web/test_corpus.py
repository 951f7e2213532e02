"""What sessions, agents and people call things, full of what a browser might take for its own: it is all shown as text.

One engine with the corpus in every place that takes a text; then every view and every dialog is looked at, wide and narrow.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import acp_agent, asker
from tests.support.browser import DESK, PHONE, Visit
from tests.support.engine import Engine, engine
from tests.support.leaving import Thing, claude_entry, conversation, playing, sleeper
from tests.support.processes import none_left, wait_until
from tests.support.tmux import tmux_of

if TYPE_CHECKING:
    from playwright.sync_api import Dialog, Page

pytestmark = pytest.mark.browser
PageOf = Callable[..., Visit]

TEXTS = [
    "<script>window.pwned=1</script>",
    "<img src=x onerror=window.pwned=1>",
    "\"><svg onload=window.pwned=1><iframe src='javascript:parent.pwned=1'></iframe>",
    "javascript:window.pwned=1//",
    "${window.pwned=1} <${Evil} /> <!-- <//> &lt;b&gt; &#60;i&#62;",
    "\u202egnp.exe\u202c \u2066hidden\u2069 \u200b\ufeff",
    "\x01\x07\x1b]0;pwned\x07\x1b[31mred\x7f\x9b31m",
    "__proto__",
    "constructor",
    "w" * 400,
]
TEXT = "\n".join(TEXTS)
LINE = " ".join(TEXTS)
NAMES = [
    "<script>window.pwned=1</script>",
    "<img/src=x/onerror=window.pwned=1>",
    "javascript:window.pwned=1//",
    "<!--<//>&lt;b&gt;",
    "__proto__",
    "constructor",
    "n" * 100,
]
# Elements that the page itself never makes, and links that do not stay on it.
FOREIGN = """() => [
    ...document.querySelectorAll("#app script, iframe, object, embed, [onerror], [onload], [onclick], u, base"),
    ...[...document.querySelectorAll("img")].filter((one) => one.getAttribute("src") !== "/icon.svg"),
    ...[...document.querySelectorAll("[href], [src], [action]")]
        .filter((one) => !one.closest("head"))
        .filter((one) => !/^(#\\/|#main|\\/icon.svg)/.test(one.getAttribute("href") ?? one.getAttribute("src") ?? "")),
].map((one) => one.outerHTML.slice(0, 200))"""
WIDE = """() => document.documentElement.scrollWidth > innerWidth ? [...document.querySelectorAll("body *")]
    .filter((one) => one.getBoundingClientRect().right > innerWidth + 1 && !one.closest(".xterm"))
    .map((one) => one.outerHTML.slice(0, 120)).slice(0, 6).concat(["wide"]) : []"""


@pytest.fixture(scope="module")
def lit() -> Iterator[Engine]:
    with engine(LAMPLIGHTER_HTTP_PORT="0", LAMPLIGHTER_QUIET="0.2s", LAMPLIGHTER_STALL="0.2s") as made:
        yield made


@pytest.fixture(scope="module")
def places(lit: Engine) -> Iterator[dict[str, str]]:
    """Where the page is to be looked at, by a name for each."""
    folder = lit.folder / "<img src=x onerror=window.pwned=1>"
    folder.mkdir()
    words = ["sh", "-c", "sleep 600", *TEXTS]
    for name in NAMES:
        label = [text[:100] for text in TEXTS if text.isprintable()]
        lit.start(*words, name=name, headless=True, label=label, project=name, cwd=str(folder))
    printing = lit.start("sh", "-c", 'printf "%s\\n" "$@"; cat', *TEXTS, name="printing")["id"]
    ended = lit.start("sh", "-c", 'printf "%s\\n" "$@"; cat', *TEXTS, name="<u>ended</u>", project=NAMES[0])["id"]
    lit.call("wait_session", session=ended, until="text=__proto__", timeout="120s")
    _hand_over(lit, ended)
    follower = lit.start("sleep", "600", name="<u>follower</u>", from_session=ended, project=NAMES[0])["id"]
    spoken = lit.start(lit.python, acp_agent.__file__, "--home", str(lit.folder), acp=True, name="spoken")["id"]
    lit.call("send_input", session=spoken, text=f"say {LINE}")
    records = [{"content": text, "type": kind, "files": [TEXTS[1]]} for text in TEXTS for kind in ("note", "open_loop")]
    for project in (NAMES[1], "__proto__"):
        lit.call("store_records", project=project, records=records)
    _ask(lit)
    with tmux_of(lit) as tmux:
        tmux.new("<img src=x onerror=window_pwned=1>", "exec sleep 600")
        yield {
            "printing": printing,
            "ended": ended,
            "follower": follower,
            "spoken": spoken,
            "named": lit.show(NAMES[1])["id"],
        }


def _hand_over(lit: Engine, session: str) -> None:
    many = dict.fromkeys(("decisions", "open_loops", "warnings"), TEXTS)
    more: dict[str, Any] = {
        "checkpoint": TEXT,
        "next_session_focus": TEXT,
        "epitaph": LINE,
        "reason": LINE[:2000],
        **many,
    }
    lit.call("end_session", session=session, grace="0s", succession_policy="successor_required", **more)


def _ask(lit: Engine) -> None:
    """An agent asks for what it may not do, with the corpus as its reason."""
    shell, answer = lit.start("sh", name="<u>agent</u>")["id"], lit.folder / "answer"
    wish = json.dumps({"session": NAMES[0], "reason": TEXT[:2000]})
    asking = [sys.executable, asker.__file__, lit.home.run, str(answer), "plain", "kill_session", wish]
    script = lit.folder / "ask.sh"
    script.write_text(shlex.join(asking))
    lit.call("send_input", session=shell, text=f"sh {script}")
    assert wait_until(answer.exists), lit.output(shell)
    assert json.loads(answer.read_text())["error"]["code"] == "APPROVAL_NEEDED"


def where(places: dict[str, str]) -> list[str]:
    tabs = ("", "/processes", "/events", "/handoff", "/lineage")
    return [
        "#/sessions",
        "#/sessions?view=tree&all=1",
        "#/sessions?selection=<img src=x onerror=window.pwned=1>",
        "#/sessions?selection=idle,__proto__",
        *(f"#/sessions/{places[name]}{tab}" for name in ("named", "ended", "follower") for tab in tabs),
        f"#/sessions/{places['printing']}",
        f"#/sessions/{places['spoken']}/conversation",
        "#/sessions/<script>window.pwned=1</script>",
        "#/cleanup?selection=all",
        "#/cleanup?selection=<img src=x onerror=window.pwned=1>",
        "#/cleanup/leaks",
        "#/approvals",
        *(f"#/memory/{tab}" for tab in ("records", "loops", "packet", "handoffs", "lineage")),
        f"#/memory/records?query={TEXTS[1]}",
        f"#/memory/records?project={NAMES[1]}",
        f"#/memory/lineage/{places['ended']}",
        "#/timeline",
        "#/timeline?as=table",
        "#/timeline?day=<b>&zoom=__proto__&hour=${1}",
    ]


def harmless(page: Page, place: str) -> None:
    assert page.evaluate(FOREIGN) == [], place
    assert page.evaluate("window.pwned") is None, place
    title = page.title()
    for name in NAMES:  # a session's own name is in it, as text
        title = title.replace(name, "")
    assert "pwned" not in title, place


def look(visit: Visit, place: str) -> None:
    page = visit.page
    page.evaluate("where => { location.hash = where }", place)
    page.wait_for_function(
        "() => !document.querySelector('main .waiting[aria-busy]') && document.querySelector('main h1')"
    )
    harmless(page, place)


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_every_view(lit: Engine, places: dict[str, str], page_of: PageOf, size: Any) -> None:
    visit = page_of(lit, viewport=size)
    visit.expects("Failed to load resource")  # what is not found is one, for the console
    dialogs: list[str] = []

    def refuse(opened: Dialog) -> None:
        dialogs.append(opened.message)
        opened.dismiss()

    visit.page.on("dialog", refuse)
    wide: dict[str, Any] = {}
    for place in where(places):
        look(visit, place)
        if found := visit.page.evaluate(WIDE):
            wide[place] = found
    assert dialogs == []
    assert wide == {}


def test_every_dialog(lit: Engine, places: dict[str, str], page_of: PageOf) -> None:
    visit = page_of(lit, viewport=PHONE)
    page, dialog = visit.page, visit.page.get_by_role("dialog")
    page.on("dialog", lambda opened: pytest.fail(opened.message))

    def opened(what: str) -> None:
        dialog.wait_for()
        visit.settle()
        harmless(page, what)
        assert page.evaluate(WIDE) == [], what
        assert (
            page.evaluate(
                "(() => { const d = document.querySelector('dialog'); return d.scrollWidth - d.clientWidth; })()"
            )
            == 0
        ), what
        page.keyboard.press("Escape")
        dialog.wait_for(state="detached")

    look(visit, f"#/sessions/{places['named']}")
    page.locator(".session-head h1").wait_for()
    for key in "pKe":
        page.keyboard.press(key)
        opened(key)
    look(visit, "#/sessions")
    page.get_by_role("button", name="Start a session").click()
    page.get_by_role("textbox", name="Command a program").fill(shlex.join(["sh", "-c", *TEXTS[:6]]))
    dialog.get_by_text("Will run").wait_for()
    opened("start")
    page.get_by_role("button", name="Adopt tmux:").click()
    opened("adopt")
    look(visit, "#/cleanup?selection=all")
    page.get_by_role("checkbox", name="Include active sessions").check()
    page.get_by_role("button", name="End ").last.click()
    opened("apply")
    look(visit, "#/memory/records")
    for name in ("Resolve", "Supersede", "Forget"):
        page.get_by_role("button", name=name).first.click()
        opened(name)


def _left_behind(mark: str) -> list[Thing]:
    """The corpus as names of programs, as arguments, and as what they say of their session."""
    # With the mark: another worker may be at the same corpus, with an agent that is alive.
    sessions = [conversation(3), *(f"{text} {mark}" for text in TEXTS[:5])]
    marks = [{"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": session} for session in sessions]
    words = ["tool", "-c", "import time; time.sleep(300)", mark, *TEXTS]
    return [
        *(sleeper(text, mark, input="pipe", alone=False, marks=marks[0]) for text in TEXTS),
        *(Thing(words, sys.executable, input="pipe", alone=False, marks=each) for each in marks),
    ]


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_what_a_dead_agent_left(lit: Engine, page_of: PageOf, mark: str, tmp_path: Path, size: Any) -> None:
    folder = tmp_path / "<img src=x onerror=window.pwned=1>"
    with playing("claude", folder, _left_behind(mark)) as player:
        assert player.start is not None
        claude_entry(folder, conversation(3), player.pid, player.start)
        player.kill()
        visit = page_of(lit, viewport=size)
        page = visit.page
        look(visit, "#/cleanup/leaks")
        for text in [one for one in TEXTS if one.isprintable()]:
            page.locator(".leak code", has_text=text[:100]).first.wait_for(state="attached")
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
        harmless(page, "leaks")
        assert page.evaluate(WIDE) == []
        found = {leak["id"]: {each["pid"] for each in leak["processes"]} for leak in lit.call("scan_host")["leaks"]}
        ours = [leak for leak, pids in found.items() if pids & set(player.pids)]
        assert set[int]().union(*(found[leak] for leak in ours)) == set(player.pids)
        for leak in page.locator(".leak").all():
            leak.get_by_role("checkbox").set_checked(leak.get_attribute("data-id") in ours)
        page.get_by_role("button", name="Plan to end").click()
        page.get_by_role("button", name=re.compile(r"^End \d+ leak")).click()
        page.get_by_role("dialog").wait_for()
        harmless(page, "plan")
        assert page.evaluate(WIDE) == []
        page.get_by_role("dialog").get_by_role("button", name="End ").click()
        page.locator(".plan tr.ended").first.wait_for()
        visit.settle()
        harmless(page, "ended")
        assert page.evaluate(WIDE) == []
        assert none_left(mark)


ADDRESSES = ("constructor", "__proto__", "toString/x", "memory/constructor", "sessions/%", "%E0%A4%A", "?a=%")


def test_any_address_is_a_page(lit: Engine, page_of: PageOf) -> None:
    """Typed, cut off, or made up: something is shown, by a load as by a step."""
    visit = page_of(lit)
    visit.expects("Failed to load resource")
    for address in ADDRESSES:
        visit.page.evaluate("where => { location.hash = where }", f"#/{address}")
        visit.page.locator("main h1").wait_for(state="attached")
        visit.page.reload()
        visit.page.locator("main h1").wait_for(state="attached")
        visit.page.locator(".host.live").wait_for(state="attached")
