"""One session on the page: its terminal, what it has instead, and what can be done to it. In a real browser."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.support import acp_agent
from tests.support.browser import PHONE, Visit, at_session, axe, terminal_rows
from tests.support.engine import Engine, engine
from tests.support.ports import free_port

pytestmark = pytest.mark.browser
Visiting = Callable[..., Visit]

# Says what it was sent, as hexadecimal digits, so that nothing of it does anything.
ECHO = """
import os, sys, tty
tty.setraw(0)
sys.stdout.write(sys.argv[1].encode().decode("unicode_escape") + "ready\\r\\n"); sys.stdout.flush()
while data := os.read(0, 1024):
    sys.stdout.write("<" + data.hex() + ">"); sys.stdout.flush()
"""
TRICKS = {
    "title": r"\x1b]0;hacked\x07\x1b]2;hacked\x07",
    "link": r"\x1b]8;;https://example.com/\x07a link\x1b]8;;\x07",
    "clipboard": r"\x1b]52;c;aGFja2Vk\x07",
    "colours": r"\x1b]4;1;rgb:00/00/00\x07\x1b]10;#00ff00\x07\x1b]11;#ff0000\x07\x1b]12;#00ff00\x07",
    "notification": r"\x1b]9;hacked\x07\x1b]777;notify;hacked;hacked\x07\x1b]99;;hacked\x07",
    "iterm": r"\x1b]1337;File=inline=1:aGFja2Vk\x07\x1b]1337;SetBadgeFormat=aGFja2Vk\x07",
    "window": r"\x1b[8;5;5t\x1b[3;0;0t\x1b[22t",
}
QUESTIONS = r"\x1b[c\x1b[>c\x1b[5n\x1b[6n\x1b]10;?\x07\x1b]11;?\x07\x1b]4;1;?\x07\x1bP$qm\x1b\\\x1b[?2026$p"
WATCHED = """() => {
    window.done = [];
    navigator.clipboard.writeText = async (text) => void window.done.push(`clipboard ${text}`);
    window.Notification = function (text) { window.done.push(`notification ${text}`); };
    window.open = (where) => void window.done.push(`open ${where}`);
}"""

LOSING = """keys => {
    const seen = new MutationObserver(() => {
        if (!document.body.textContent.includes("What you type is not sent")) return;
        seen.disconnect();
        for (const key of keys)
            document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
        window.lost = true;
    });
    seen.observe(document.body, { childList: true, subtree: true, characterData: true });
}"""


@pytest.fixture(scope="module")
def lit() -> Iterator[Engine]:
    """One for all that does not hurt it."""
    with engine(LAMPLIGHTER_HTTP_PORT="0") as made:
        yield made


def watching(page: Page) -> None:
    page.locator('.screen[data-phase="live"]').wait_for()


def take(page: Page) -> None:
    page.get_by_role("button", name="Take the keyboard").click()
    page.get_by_text("You have the keyboard").wait_for()


def echo(lit: Engine, said: str = "") -> str:
    return lit.start(sys.executable, "-c", ECHO, said)["id"]


def no_overflow(page: Page) -> bool:
    return page.evaluate("document.documentElement.scrollWidth <= innerWidth")


# -- the terminal


def test_the_keyboard_is_taken_and_given_back(lit: Engine, page_of: Visiting) -> None:
    visit = page_of(lit)
    given = {"PATH": os.environ["PATH"], "HOME": str(lit.folder), "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}
    session = lit.start("bash", "--norc", environment=given)["id"]
    page = at_session(visit, session)
    watching(page)
    expect(terminal_rows(page)).to_contain_text("bash")
    page.locator(".xterm-helper-textarea").focus()
    page.keyboard.type("x")  # only watched: it goes nowhere
    page.keyboard.press("t")
    page.get_by_text("You have the keyboard").wait_for()
    page.keyboard.type("echo $((6*7)) wide: 漢字 😀")
    page.keyboard.press("Enter")
    expect(terminal_rows(page)).to_contain_text("42 wide: 漢")
    page.keyboard.type("stty size; echo e''nd")
    page.keyboard.press("Enter")
    expect(terminal_rows(page)).to_contain_text(re.compile(r"\d+ \d+.*end"))
    shown = page.evaluate("document.querySelectorAll('.xterm-rows > div').length")
    expect(terminal_rows(page)).to_contain_text(f"{shown} ")  # as many rows as are drawn
    assert lit.show(session)["attached"] == 1
    page.keyboard.press("Control+\\")
    page.get_by_text("watching, read-only").wait_for()
    visit.until(lambda: lit.show(session)["attached"] == 0)
    page.keyboard.press("Escape")  # not the session's any more: back to the list
    page.wait_for_url("**/#/sessions")
    assert "xecho" not in lit.output(session)


def test_what_is_typed_reaches_it_byte_by_byte(lit: Engine, page_of: Visiting) -> None:
    page = at_session(page_of(lit), echo(lit, r"\x1b[?2004h"))
    watching(page)
    take(page)
    for key, code in {"Escape": "1b", "Control+c": "03", "ArrowUp": "1b5b41", "?": "3f", "/": "2f"}.items():
        page.keyboard.press(key)
        expect(terminal_rows(page)).to_contain_text(f"<{code}>")  # one at a time: two keys may come in one read
    page.evaluate("""() => {
        const given = new DataTransfer();
        given.setData("text/plain", "a\\nb");
        const event = new ClipboardEvent("paste", { clipboardData: given, bubbles: true });
        document.querySelector(".xterm-helper-textarea").dispatchEvent(event);
    }""")
    expect(terminal_rows(page)).to_contain_text(b"\x1b[200~a\rb\x1b[201~".hex())


def test_who_only_watches_answers_nothing(lit: Engine, page_of: Visiting) -> None:
    """The session asks the terminal what it is; only who has the keyboard answers, and only what is asked from then on."""
    visit, sent = page_of(lit), list[bytes]()
    visit.page.on("websocket", lambda opened: opened.on("framesent", lambda data: _keep(sent, data)))
    page = at_session(visit, echo(lit, QUESTIONS))
    watching(page)
    expect(terminal_rows(page)).to_contain_text("ready")
    page.locator(".xterm-screen").click()
    page.locator(".xterm-screen").dblclick()
    page.keyboard.type("xyz")
    assert sent == []
    take(page)
    page.keyboard.type("z")
    expect(terminal_rows(page)).to_contain_text("<7a>")
    assert b"".join(sent) == b"z"


def _keep(sent: list[bytes], data: Any) -> None:
    if isinstance(data, bytes):
        sent.append(data)


def test_a_selection_is_copied(lit: Engine, page_of: Visiting) -> None:
    """By the browser's own key and by a terminal's; with the keyboard taken, Ctrl-C is the program's."""
    session = echo(lit, r"first\r\nsecond\r\n")
    page = at_session(page_of(lit, permissions=["clipboard-read", "clipboard-write"]), session)
    watching(page)
    expect(terminal_rows(page)).to_contain_text("ready")
    assert copied(page, "first", "Control+c") == "first"
    assert copied(page, "second", "Control+Shift+C") == "second"
    take(page)
    assert copied(page, "first", "Control+Shift+C") == "first"
    select(page, "second")
    page.keyboard.press("Control+c")
    expect(terminal_rows(page)).to_contain_text("<03>")
    assert page.evaluate("navigator.clipboard.readText()") == "first"
    assert re.findall("<.*?>", lit.output(session)) == ["<03>"]


def select(page: Page, word: str) -> None:
    box = page.locator(".xterm-rows span", has_text=word).first.bounding_box()
    assert box is not None
    page.mouse.dblclick(box["x"] + 15, box["y"] + box["height"] / 2)
    expect(page.locator(".xterm-selection div").first).to_be_visible()


def copied(page: Page, word: str, key: str) -> str:
    page.evaluate("navigator.clipboard.writeText('nothing')")
    select(page, word)
    page.keyboard.press(key)
    page.wait_for_function("async () => await navigator.clipboard.readText() !== 'nothing'")
    return page.evaluate("navigator.clipboard.readText()")


@pytest.mark.parametrize("trick", sorted(TRICKS))
def test_tricks_do_nothing(lit: Engine, page_of: Visiting, trick: str) -> None:
    visit = page_of(lit, permissions=[])
    visit.page.evaluate(WATCHED)
    session = echo(lit)
    page = at_session(visit, session)
    watching(page)
    expect(terminal_rows(page)).to_contain_text("ready")
    look = """() => {
        const style = (name) => getComputedStyle(document.querySelector(name));
        const drawn = document.querySelector(".xterm-rows");
        return [document.title, style(".xterm-scrollable-element").backgroundColor, style(".xterm-rows").color,
            document.querySelectorAll(".xterm a, .xterm img").length, drawn.children.length, innerWidth, outerWidth];
    }"""
    before = page.evaluate(look)
    lit.call("kill_session", session=session, force=True, grace="0s")
    other = lit.start(sys.executable, "-c", ECHO, TRICKS[trick] + r"\x1b[31mplain\x1b[0m ")["id"]
    page = at_session(visit, other)
    watching(page)
    expect(terminal_rows(page)).to_contain_text("plain ready")
    take(page)  # also while the keyboard is held
    page.get_by_role("button", name="Release").click()
    page.get_by_text("watching, read-only").wait_for()
    page.locator(".xterm-screen").click(position={"x": 12, "y": 8})
    page.locator(".xterm-screen").click(position={"x": 12, "y": 8}, modifiers=["Control"])
    after = page.evaluate(look)
    assert [after[0].replace("plain", ""), *after[1:4]] == before[:4]
    assert page.evaluate("window.done") == []
    assert "hacked" not in page.locator(".terminal .screen").inner_html()
    red = page.locator(".xterm-rows span", has_text="plain").first
    assert red.evaluate("one => getComputedStyle(one).color") not in ("rgb(0, 0, 0)", "rgb(0, 255, 0)")
    lit.call("kill_session", session=other, force=True, grace="0s")


def test_a_search_in_the_terminal(lit: Engine, page_of: Visiting) -> None:
    session = lit.start("bash", "--norc", "-c", "for i in $(seq 99); do echo line $i; done; echo needle; sleep 300")[
        "id"
    ]
    page = at_session(page_of(lit), session)
    watching(page)
    expect(terminal_rows(page)).to_contain_text("needle")
    page.keyboard.press("/")
    page.get_by_label("Find in the terminal").fill("line 1")
    expect(page.locator(".find [role=status]")).to_have_text(re.compile(r"\d+ of 11"))
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    expect(page.locator(".find")).to_have_count(0)


def test_it_survives_the_daemon(page_of: Visiting) -> None:
    """Killed with the keyboard held: the screen comes back, and so does the keyboard. Keys typed meanwhile do nothing on the
    page; they reach the session or are lost, depending on when it is back, but none comes twice or late."""
    keys = ["p", "Enter", "s", "K", "e", "1", "?", "/", "t", "Escape", "Tab"]
    with engine(LAMPLIGHTER_HTTP_PORT=str(free_port())) as lit:
        visit, session = page_of(lit), echo(lit)
        visit.expects("net::ERR", "WebSocket", "Failed to load")
        page = at_session(visit, session)
        watching(page)
        take(page)
        page.keyboard.press("<")
        expect(terminal_rows(page)).to_contain_text("<3c>")
        page.evaluate(LOSING, keys)
        lit.kill(lit.daemon())
        for key in keys:
            page.keyboard.press(key)
        lit.call("get_status")
        page.wait_for_function("() => window.lost")
        page.get_by_text("You have the keyboard").wait_for()
        assert page.get_by_role("dialog").count() == page.locator(".find, #composer").count() == 0
        assert page.url.endswith(f"#/sessions/{session}")
        expect(terminal_rows(page)).to_contain_text("<3c>")
        page.keyboard.press(">")
        expect(terminal_rows(page)).to_contain_text("3e>")
        assert lit.show(session)["protected"] is False
        arrived = bytes.fromhex("".join(re.findall("<(.*?)>", lit.output(session))))
        assert re.fullmatch(rb"<p?\r?s?K?e?1?\??/?t?(\x1b)?\t?>", arrived), arrived
        visit.settle()


def test_a_text_and_a_key_are_sent(lit: Engine, page_of: Visiting) -> None:
    page = at_session(page_of(lit), lit.start("bash", "--norc")["id"])
    watching(page)
    page.keyboard.press("s")
    field = page.get_by_role("textbox", name=re.compile("Text for"))
    expect(field).to_be_focused()
    page.keyboard.type("echo one")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("echo t''wo; sleep 400")
    page.keyboard.press("Enter")
    expect(terminal_rows(page)).to_contain_text("two")
    expect(field).to_have_value("")
    page.get_by_role("button", name="Send Ctrl C").click()
    expect(terminal_rows(page)).to_contain_text("^C")


# -- without a terminal of ours


def test_a_log(lit: Engine, page_of: Visiting) -> None:
    session = lit.start("sh", "-c", "echo one; echo two; read line; echo got $line; exit 3", headless=True)["id"]
    page = at_session(page_of(lit), session)
    watching(page)
    expect(terminal_rows(page)).to_contain_text("one")
    page.get_by_role("textbox", name=re.compile("Text for")).fill("three")
    page.get_by_role("button", name="Send", exact=True).click()
    page.locator('.screen[data-phase="recorded"]').wait_for()
    expect(terminal_rows(page)).to_contain_text("got three")
    expect(page.get_by_text("exited · exit 3")).to_be_visible()


def test_a_conversation(lit: Engine, page_of: Visiting) -> None:
    session = lit.start(lit.python, acp_agent.__file__, "--home", str(lit.folder), acp=True)["id"]
    page = at_session(page_of(lit), session)
    page.get_by_role("textbox", name=re.compile("Text for")).fill("say <b>hello</b> there")
    page.keyboard.press("Enter")
    talk = page.get_by_role("log")
    expect(talk).to_contain_text("say <b>hello</b> there")
    expect(talk.get_by_text("<b>hello</b> there").last).to_be_visible()
    expect(page.get_by_role("tab", name="Terminal")).to_have_count(0)


def test_a_picture_of_tmux(lit: Engine, page_of: Visiting) -> None:
    given = {"PATH": os.environ["PATH"], "HOME": str(lit.folder), "TMUX_TMPDIR": str(lit.folder)}
    session = lit.start("bash", "--norc", tmux=True, name="in-tmux", environment=given)["id"]
    page = at_session(page_of(lit), session)
    expect(page.get_by_text(re.compile("attach-session -t '=in-tmux'"))).to_be_visible()
    page.get_by_role("textbox", name=re.compile("Text for")).fill("echo $((6*7))")
    page.keyboard.press("Enter")
    expect(terminal_rows(page)).to_contain_text("42")
    lit.call("kill_session", session=session, force=True, grace="0s")


# -- what can be done to it


def test_a_kill_of_what_is_active_needs_its_name(lit: Engine, page_of: Visiting) -> None:
    session = lit.start("bash", "--norc", "-c", "sleep 300 & while :; do :; done", name="busy<i>one")["id"]
    page = at_session(page_of(lit), session, "processes")
    expect(page.get_by_role("cell", name="sleep 300", exact=True)).to_be_visible()
    expect(page.locator(".session-head .verdict")).to_have_text("working")
    page.keyboard.press("K")
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".victims")).to_contain_text("sleep 300")
    expect(dialog).to_contain_text("It has left no hand-off")
    kill = dialog.get_by_role("button", name="Kill it")
    expect(kill).to_be_disabled()
    page.keyboard.type("busy")
    page.keyboard.press("Enter")
    expect(kill).to_be_disabled()
    assert lit.show(session)["state"] == "running"
    page.keyboard.type("<i>one")
    page.keyboard.press("Enter")
    expect(dialog).to_contain_text("Nothing is left. 2 processes ended")
    row = dialog.get_by_role("row", name=re.compile(r"\d sleep 300"))
    expect(row).to_contain_text(re.compile("TERM|HUP"))  # HUP is the kernel's, when the shell dies first
    assert lit.show(session)["state"] == "ended"
    dialog.get_by_role("button", name="Done").click()
    expect(page.get_by_role("heading", name="Death certificate")).to_be_visible()


def test_what_was_meant_for_a_terminal_ends_nothing(lit: Engine, page_of: Visiting) -> None:
    session = lit.start("bash", "--norc")["id"]
    page = at_session(page_of(lit), session)
    watching(page)
    for words in ("echo hello", "Kill", "pwd"):
        page.keyboard.type(words)
        page.keyboard.press("Enter")
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        at_session(Visit(page), session)
    assert (lit.show(session)["state"], lit.show(session)["intent"]) == ("running", None)


def test_an_end_with_a_hand_off(lit: Engine, page_of: Visiting) -> None:
    session = lit.start("bash", "--norc", cwd=str(lit.folder))["id"]
    page = at_session(page_of(lit), session)
    page.get_by_role("button", name=re.compile("^End ")).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Leave a hand-off").click()
    dialog.get_by_label("Current state of the work").fill("half <script>alert(1)</script> done")
    dialog.get_by_label("Open items, one per line").fill("first\n\nsecond")
    dialog.get_by_label("Reason").fill("enough")
    dialog.get_by_role("button", name="End it").click()
    expect(dialog).to_contain_text("Nothing is left.")
    dialog.get_by_role("button", name="Done").click()
    page = at_session(Visit(page), session, "handoff")
    expect(page.locator(".records")).to_contain_text("half <script>alert(1)</script> done")
    expect(page.locator(".records li")).to_have_count(3)
    expect(page.locator(".facts-panel")).to_contain_text("enough")


def test_it_is_protected_and_no_longer(lit: Engine, page_of: Visiting) -> None:
    session = lit.start("sleep", "300")["id"]
    page = at_session(page_of(lit), session)
    page.keyboard.press("p")
    page.get_by_role("dialog").get_by_role("button", name="Protect").click()
    expect(page.get_by_text("Protected: only you")).to_be_visible()
    assert lit.show(session)["protected"]
    page.keyboard.press("p")
    page.get_by_role("dialog").get_by_role("button", name="Unprotect").click()
    expect(page.get_by_text("Protected: only you")).to_have_count(0)


# -- ended


def test_a_recording_is_played(lit: Engine, page_of: Visiting) -> None:
    session = lit.start("bash", "--norc", "-c", "echo first; sleep 0.4; printf '\\033[2J\\033[Hlast'")["id"]
    lit.call("wait_session", session=session, until="ended", timeout="120s")
    page = at_session(page_of(lit), session)
    page.locator('.screen[data-phase="recorded"]').wait_for()
    expect(terminal_rows(page)).to_contain_text("last")
    seek = page.get_by_label("Position in the recording")
    seek.focus()
    page.keyboard.press("Home")
    expect(terminal_rows(page)).to_contain_text("first")
    page.get_by_role("button", name="8×").click()
    page.get_by_role("button", name="Play").click()
    expect(terminal_rows(page)).to_contain_text("last")
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_tabs_by_keys_and_by_address(lit: Engine, page_of: Visiting) -> None:
    first = lit.start("sleep", "300", cwd=str(lit.folder))["id"]
    lit.call("end_session", session=first, checkpoint="half done")
    second = lit.start("sleep", "300", from_session=first, cwd=str(lit.folder))["id"]
    page = at_session(page_of(lit), second, "lineage")
    expect(page.locator(".lineage li")).to_have_count(2)
    page.keyboard.press("[")
    page.keyboard.press("[")
    page.wait_for_url("**/events")
    expect(page.locator(".events")).to_contain_text("started")
    at_session(Visit(page), second, "lineage").locator(".lineage a").click()
    page.wait_for_url(f"**/{first}")
    expect(page.get_by_role("tab", name="Recording")).to_be_visible()


# -- for everybody


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_is_readable(lit: Engine, page_of: Visiting, theme: str) -> None:
    session = lit.start("bash", "--norc", name=f"a-rather-long-name-for-a-session-that-is-{theme}")["id"]
    page = at_session(page_of(lit, viewport=PHONE, color_scheme=theme), session)
    watching(page)
    found = list[str]()
    for tab in ("processes", "events", "handoff", "lineage", ""):
        at_session(Visit(page), session, tab).locator(".tab .panel").wait_for()
        assert no_overflow(page), tab
        found += axe(page)
    page.get_by_role("button", name="Kill").click()
    page.get_by_role("dialog").locator(".victims").wait_for()
    found += axe(page)
    assert not found
