"""The browser itself: it draws, it tells what a page complains of, and the libraries work under the policy of the page."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.browser import PHONE, Visits, axe, living
from tests.support.processes import inspect, wait_until

pytestmark = pytest.mark.browser
Serve = Callable[..., str]

COUNTER = """
import { html, render, signal, useState } from "/vendor/preact.js";
const count = signal(0);
function Counter() {
  const [name] = useState("lamps");
  return html`<button onClick=${() => count.value++}>${count} ${name}</button>`;
}
render(html`<${Counter} />`, document.querySelector("div"));
"""
TERMINAL = r"""
import { FitAddon, SearchAddon, Terminal, WidthsAddon } from "/vendor/xterm.js";
const terminal = new Terminal({ allowProposedApi: true, cols: 20, rows: 3, scrollback: 9, theme: { background: "#102030" } });
terminal.loadAddon(new FitAddon());
terminal.loadAddon(new SearchAddon());
terminal.loadAddon(new WidthsAddon());
terminal.open(document.querySelector("div"));
window.typed = "";
terminal.onData((data) => { window.typed += data; });
terminal.write("\x1b[38;2;1;2;3mred\x1b[0m 漢 \x1b]8;;https://example.com\x07link\x1b]8;;\x07", () => { window.drawn = true; });
window.terminal = terminal;
"""
ALONE = """
import signal
from tests.support import browser
with browser.chromium() as chromium:
    chromium.new_page().goto("data:text/html,here")
    print(*(process.pid for process in browser.family()), flush=True)
    signal.pause()
"""


def test_it_draws_with_the_libraries(browser: Visits, serve: Serve) -> None:
    page = browser.visit(serve("<div></div>", COUNTER)).page
    button = page.get_by_role("button")
    assert button.inner_text() == "0 lamps"
    button.click()
    page.get_by_text("1 lamps").wait_for()


def test_a_terminal_is_drawn_without_inline_styles(browser: Visits, serve: Serve) -> None:
    page = browser.visit(serve("<div></div>", TERMINAL)).page
    page.wait_for_function("() => window.drawn")
    red = page.locator(".xterm-rows span", has_text="red").first
    red.wait_for()
    assert red.evaluate("each => getComputedStyle(each).color") == "rgb(1, 2, 3)"
    viewport = "getComputedStyle(document.querySelector('.xterm-scrollable-element')).backgroundColor"
    assert page.evaluate(viewport) == "rgb(16, 32, 48)"
    assert page.evaluate("window.terminal.buffer.active.cursorX") == len("red 漢 link") + 1
    page.locator(".xterm-helper-textarea").press_sequentially("ls")
    page.wait_for_function("() => window.typed === 'ls'")
    adopted = page.evaluate("document.adoptedStyleSheets.length")
    page.evaluate("window.terminal.dispose()")
    assert (adopted, page.evaluate("document.adoptedStyleSheets.length")) == (3, 0)


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("console.error('trouble')", "trouble"),
        ("throw new Error('thrown')", "thrown"),
        (
            "document.body.append(Object.assign(document.createElement('style'), { textContent: 'a{}' }))",
            "style-src-elem",
        ),
        ("document.body.setAttribute('style', 'color: red')", "style-src-attr"),
        (
            "const made = document.createElement('script'); made.textContent = '1'; document.body.append(made)",
            "script-src",
        ),
        ("try { eval('1') } catch {}", "script-src"),
        ("fetch('https://example.com/').catch(() => {})", "connect-src"),
        ("location = 'https://example.com/'", "asked of others: https://example.com/"),
    ],
)
def test_what_a_page_complains_of_is_kept(browser: Visits, serve: Serve, script: str, complaint: str) -> None:
    visit = browser.visit()
    visit.page.goto(serve("<p>here</p>", script), wait_until="commit")
    visit.until(lambda: any(complaint in one for one in visit.unexpected()))
    visit.expects("")
    assert not visit.unexpected()


def test_what_is_hard_to_read_is_found(browser: Visits, serve: Serve) -> None:
    page = browser.visit(serve('<p class="bad">pale</p><img src="data:,">')).page
    assert [finding.split(":")[0] for finding in axe(page)] == ["image-alt"]


def test_a_good_page_has_no_findings(browser: Visits, serve: Serve) -> None:
    assert axe(browser.visit(serve("<p>text</p>")).page) == []


def test_visits_do_not_know_of_each_other(browser: Visits, serve: Serve) -> None:
    url = serve("<p>here</p>", "document.cookie = document.cookie ? 'seen=twice' : 'seen=once'")
    visits = [browser.visit(url) for _ in range(2)]
    for visit in visits:
        visit.page.wait_for_function("() => document.cookie")
        assert visit.page.evaluate("document.cookie") == "seen=once"


def test_a_screenshot_is_as_wide_as_a_phone(browser: Visits, serve: Serve, tmp_path: Path) -> None:
    visit = browser.visit(serve("<p>here</p>"), viewport=PHONE, color_scheme="dark")
    assert visit.page.evaluate("[innerWidth, matchMedia('(prefers-color-scheme: dark)').matches]") == [390, True]
    picture = visit.screenshot(tmp_path / "pictures" / "small.png").read_bytes()
    assert int.from_bytes(picture[16:20]) == 390


def test_nothing_of_it_is_left_when_the_tests_are_killed() -> None:
    """In a process of its own, as there is one Playwright in a process at most."""
    with subprocess.Popen([sys.executable, "-c", ALONE], stdout=subprocess.PIPE, text=True) as alone:
        assert alone.stdout
        family = [process for pid in alone.stdout.readline().split() if (process := inspect(int(pid)))]
        alone.kill()
    assert len(family) > 2
    assert wait_until(lambda: not living(family))
