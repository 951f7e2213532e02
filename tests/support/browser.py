"""A real browser for tests: Debian's Chromium, driven by Playwright, that cannot reach anything but this machine.

What a page complains of (errors on the console, exceptions, what its policy forbade, what it asked of others) fails the
test, unless the test said that it expects it. Knows how a browser logs in; knows nothing of what is on the page.
Playwright is imported only when a browser is asked for: every test process loads this file.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import psutil
import pytest

from tests.support.engine import Engine
from tests.support.processes import Process, alive, inspect, wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, Request, WebSocket

AXE = Path(__file__).parents[1] / "outside" / "node" / "node_modules" / "axe-core" / "axe.min.js"
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 800}
_MILLISECONDS = 120_000
# Addresses are all there is: no name is looked up, so that nothing can be fetched from outside by mistake.
_ARGUMENTS = ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost", "--disable-breakpad"]
_POLICY = """addEventListener("securitypolicyviolation", (event) => console.error(
    `policy: ${event.effectiveDirective} forbids ${event.blockedURI} at ${event.sourceFile}:${event.lineNumber}`))"""

_SETTLED = """() => new Promise((done) => {
    let quiet = setTimeout(done, 400);
    new MutationObserver(() => { clearTimeout(quiet); quiet = setTimeout(done, 400); })
        .observe(document, { attributes: true, characterData: true, childList: true, subtree: true });
    setTimeout(done, 5000);
})"""


@dataclass
class Visit:
    """One page in a context of its own, with no cookie of another, and what it has complained of so far."""

    page: Page
    complaints: list[str] = field(default_factory=list[str])
    _expected: list[str] = field(default_factory=list[str])

    def expects(self, *texts: str) -> None:
        """Complaints with one of these in them are part of the test."""
        self._expected += texts

    def unexpected(self) -> list[str]:
        return [one for one in self.complaints if not any(text in one for text in self._expected)]

    def until(self, predicate: Callable[[], object]) -> None:
        """Wait for what is not on the page: only while Playwright waits does it hear of anything."""
        assert wait_until(lambda: predicate() or self.page.wait_for_timeout(5) or predicate())

    def settle(self) -> None:
        """Wait until the page has not changed for a moment, or changes for ever."""
        self.page.evaluate(_SETTLED)

    def screenshot(self, path: Path, *, full: bool = False) -> Path:
        """What is to be seen, as a PNG; without what moves or blinks, so that the same page is the same picture."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=path, full_page=full, animations="disabled", caret="hide")
        return path

    def _listen(self) -> None:
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.complaints.append(f"exception: {error}"))
        self.page.on("request", self._see)
        self.page.on("websocket", self._see)

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.complaints.append(f"console: {message.text} ({message.location.get('url', '')})")

    def _see(self, asked: Request | WebSocket) -> None:
        where = urlsplit(asked.url)
        if where.scheme not in ("data", "blob", "about") and where.hostname not in ("127.0.0.1", "localhost"):
            self.complaints.append(f"asked of others: {asked.url}")


class Visits:
    """Makes visits, each with a context of its own; all of them end together."""

    def __init__(self, chromium: Browser) -> None:
        self._chromium = chromium
        self._contexts = ExitStack()
        self.made: list[Visit] = []

    def visit(self, url: str | None = None, **options: Any) -> Visit:
        """`options` are those of a Playwright context: viewport, color_scheme, has_touch, …"""
        given: dict[str, Any] = {"viewport": DESK, **options}
        context: BrowserContext = self._chromium.new_context(**given)
        self._contexts.callback(context.close)
        context.set_default_timeout(_MILLISECONDS)
        context.add_init_script(_POLICY)
        made = Visit(context.new_page())
        made._listen()  # pyright: ignore[reportPrivateUsage]
        self.made.append(made)
        if url is not None:
            made.page.goto(url)
        return made

    def log_in(self, engine: Engine, **options: Any) -> Visit:
        """The page of an engine, as the operator: with the link that `lamp open` opens."""
        return self.log_in_with(engine.call("open_page")["url"], **options)

    def log_in_with(self, link: str, **options: Any) -> Visit:
        made = self.visit(link, **options)
        made.page.locator(".host.live").wait_for(state="attached")
        return made

    def close(self) -> None:
        self._contexts.close()


@contextmanager
def chromium() -> Generator[Browser]:
    """A headless Chromium with a home of its own; none of its processes is left afterwards."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=_MILLISECONDS)  # five seconds are not enough for a machine that has much to do
    program = shutil.which("chromium")
    assert program, "Chromium is missing: ./test installs it, or run: sudo apt-get install chromium"
    with tempfile.TemporaryDirectory(prefix="lamp-chromium-", ignore_cleanup_errors=True) as home:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=program,
                args=_ARGUMENTS,
                chromium_sandbox=os.geteuid() != 0,  # Chromium refuses to have one as root
                env={**os.environ, "HOME": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home},
            )
            try:
                yield browser
            finally:
                ours = family()
                browser.close()
        gone = wait_until(lambda: not living(ours))
    assert gone, f"Chromium left behind: {living(ours)}"


def family() -> list[Process]:
    """Playwright's own process and all below it. Not by a mark: Chromium writes over its command line and environment."""
    drivers = [child for child in psutil.Process().children() if "playwright" in child.exe()]
    pids = [process.pid for driver in drivers for process in (driver, *driver.children(recursive=True))]
    return [process for pid in pids if (process := inspect(pid))]


def living(processes: list[Process]) -> list[Process]:
    return [process for process in processes if alive(process.pid, process.start_ticks)]


def at_session(visit: Visit, session: str, tab: str = "") -> Page:
    """The page, at this session's view."""
    page = visit.page
    page.evaluate("where => { location.hash = where }", f"#/sessions/{session}{'/' + tab if tab else ''}")
    page.locator(".facts-panel").wait_for()
    return page


def terminal_rows(page: Page) -> Locator:
    return page.locator(".xterm-rows")


def axe(page: Page) -> list[str]:
    """What axe-core finds serious or critical about the page as it is now: the rule, what it asks, and where."""
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{rule['id']}: {rule['help']}: {[node['html'][:200] for node in rule['nodes'][:5]]}"
        for rule in found["violations"]
        if rule["impact"] in ("serious", "critical")
    ]


# -- fixtures


@pytest.fixture(scope="module", name="chromium")
def _chromium() -> Iterator[Browser]:  # pyright: ignore[reportUnusedFunction]
    """One for each module, not for the whole run: while Playwright is there no other test may run an event loop."""
    with chromium() as made:
        yield made


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Visits]:
    """Visits of this test alone; what a page complained of unexpectedly fails it."""
    made = Visits(chromium)
    try:
        yield made
    finally:
        made.close()
    unexpected = [complaint for visit in made.made for complaint in visit.unexpected()]
    assert not unexpected, "the page complained:\n" + "\n".join(unexpected)


@pytest.fixture
def page_of(browser: Visits) -> Callable[..., Visit]:
    """Logs in at the page of an engine that was made with LAMPLIGHTER_HTTP_PORT=0."""
    return browser.log_in
