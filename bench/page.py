"""The page: how soon it is there, how much of it is sent, how soon a key is heard, and what it costs to be watched.

The first three in Debian's Chromium, headless, that has kept nothing from before but the login.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from bench.echo import attached, timed
from bench.lamps import Lamps, lamps
from bench.scale import Scale
from bench.table import Row, Sample, Target
from bench.watched import watched
from lamplighter.frontends.web.assets import Asset, assets
from tests.support.browser import Visits, chromium
from tests.support.web import page as log_in

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, StorageState

_KILO = 1000
_XTERM = "/vendor/xterm.js"
_FRAMES_SECONDS = 3 / 60
_LETTERS = "abcdefghijklmnopqrstuvwxyz"

# A frame after the row is in the document it is on the screen.
_WAIT_FOR_ROW = """
    window.firstRow = new Promise((done) => new MutationObserver((_, observer) => {
        if (!document.querySelector(".line")) return;
        observer.disconnect();
        requestAnimationFrame(() => done(performance.now()));
    }).observe(document, { childList: true, subtree: true }));
"""
_PAINTED = """() => new Promise((done) => new PerformanceObserver((list) => {
    for (const entry of list.getEntriesByName("first-contentful-paint")) done(entry.startTime);
}).observe({ type: "paint", buffered: true }))"""
# From the key in the page to the character among the rows that the browser draws.
_LISTEN = """() => {
    const rows = document.querySelector(".xterm-rows");
    const letters = () => rows.textContent.replace(/\\s/g, "").length;
    let pressed = 0, before = 0, heard = () => {};
    window.echoes = [];
    addEventListener("keydown", () => { before = letters(); pressed = performance.now(); }, true);
    new MutationObserver(() => {
        if (!pressed || letters() <= before) return;
        window.echoes.push(performance.now() - pressed);
        pressed = 0;
        heard();
    }).observe(rows, { childList: true, subtree: true, characterData: true });
    window.echoed = (number) => new Promise((done) => {
        heard = () => { if (window.echoes.length >= number) done(window.echoes[number - 1]); };
        heard();
    });
}"""


def measure(scale: Scale) -> Iterator[Row]:
    yield from _weight()
    with lamps(LAMPLIGHTER_HTTP_PORT="0") as ours:
        ours.start_many(scale.paged, "sleep", "1000000")
        with chromium() as browser:
            yield from _paint(scale, ours, browser)
    with lamps(LAMPLIGHTER_HTTP_PORT="0") as ours:
        ours.start_many(scale.neighbours)
        with chromium() as browser:
            yield from _echo(scale, ours, browser)
    yield from watched(scale)


# -- how much is sent


def _weight() -> Iterator[Row]:
    found = {path: asset for path, asset in assets().items() if _is_code(path, asset)}
    terminal = len(found.pop(next(path for path in found if path.endswith(_XTERM))).packed)
    rest = sum(len(asset.packed) for asset in found.values())
    name = f"the page's script and style, compressed, {len(found)} files"
    yield Row(f"{name}, without xterm.js", Sample([rest / _KILO], "kB"), target=Target(150))
    yield Row("xterm.js, compressed", Sample([terminal / _KILO], "kB"))


def _is_code(path: str, asset: Asset) -> bool:
    return path == "/" or asset.kind.startswith(("text/javascript", "text/css"))


# -- how soon it is there


def _paint(scale: Scale, ours: Lamps, browser: Browser) -> Iterator[Row]:
    state = _login(ours, browser)
    url = ours.warm.call("open_page")["url"].partition("#")[0]
    _painted(browser, url, state)  # the first one loads what the browser itself needs
    found = [_painted(browser, url, state) for _ in range(scale.paints)]
    name = f"the page with {scale.paged:,} sessions"
    yield Row(f"{name}: first paint", Sample([paint for paint, _ in found], "ms"), target=Target(300))
    yield Row(f"{name}: its first rows", Sample([row for _, row in found], "ms"))


def _login(ours: Lamps, browser: Browser) -> StorageState:
    with closing(Visits(browser)) as visits:
        return visits.log_in(ours.engine).page.context.storage_state()


def _painted(browser: Browser, url: str, state: StorageState) -> tuple[float, float]:
    """Milliseconds from when the browser was sent there, to its first paint and to the first row."""
    with closing(Visits(browser)) as visits:
        page = visits.visit(storage_state=state).page
        page.add_init_script(_WAIT_FOR_ROW)
        page.goto(url)
        row: float = page.evaluate("window.firstRow")
        return page.evaluate(_PAINTED), row


# -- how soon a key is heard


def _echo(scale: Scale, ours: Lamps, browser: Browser) -> Iterator[Row]:
    """Each with a session of its own, in turn; the echo is the terminal's own, as in bench/echo.py."""
    direct = attached(ours, ours.start()["id"])
    drawn: list[float] = []
    sent: list[float] = []
    direct_times: list[float] = []
    with _typed(ours, browser) as press, _over_websocket(ours) as echo:
        for number in range(scale.keys):
            letter = _LETTERS[number % len(_LETTERS)]
            drawn.append(press(letter))
            sent.append(timed(echo, f"{letter}{number}."))
            direct_times.append(timed(direct, f"{letter}{number}."))
    peer = Sample(direct_times, "ms")
    yield Row("a key in the page's terminal → its echo drawn", Sample(drawn, "ms"), peer, "attached", Target(30))
    yield Row("a key over the page's WebSocket → its echo", Sample(sent, "ms"), peer, "attached")


@contextmanager
def _typed(ours: Lamps, browser: Browser) -> Generator[Callable[[str], float]]:
    """Presses a key in the terminal of a page, and says what the page itself saw it take."""
    with closing(Visits(browser)) as visits:
        page = visits.log_in(ours.engine).page
        _take_keyboard(page, ours.start()["id"])
        pressed = 0

        def press(letter: str) -> float:
            nonlocal pressed
            pressed += 1
            # Nobody types in step with the screen: without this each key would come at the same moment of a frame.
            time.sleep(random.uniform(0, _FRAMES_SECONDS))
            page.keyboard.press(letter)
            return page.evaluate("number => window.echoed(number)", pressed)

        yield press


def _take_keyboard(page: Page, session: str) -> None:
    page.evaluate("where => { location.hash = where }", f"#/sessions/{session}")
    page.locator('.screen[data-phase="live"]').wait_for()
    page.get_by_role("button", name="Take the keyboard").click()
    page.get_by_text("You have the keyboard").wait_for()
    page.evaluate(_LISTEN)


@contextmanager
def _over_websocket(ours: Lamps) -> Generator[Callable[[str], None]]:
    """The same without a browser: a client that draws nothing."""
    with log_in(ours.engine).terminal(ours.start()["id"]) as socket:

        def until(text: bytes) -> None:
            heard = b""
            while text not in heard:
                said: Any = socket.recv(timeout=30)
                heard += said if isinstance(said, bytes) else said.encode()

        def echo(text: str) -> None:
            socket.send(text.encode())
            until(text.encode())

        until(b'"screen"')
        socket.send('{"type": "take", "rows": 24, "cols": 80}')
        until(b'"held": true')
        yield echo
