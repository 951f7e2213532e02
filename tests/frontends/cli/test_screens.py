"""An attached session is on a screen of its own: the shell's is as it was afterwards, whatever the session does with its two."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from lamplighter.frontends.cli.terminal.raw_terminal import AlternateScreen
from tests.support.engine import Engine
from tests.support.processes import wait_until
from tests.support.shells import Shell

pytestmark = pytest.mark.shared

RESET = b"<reset>"
TWO_SCREENS = """
stty -echo
echo first-screen
while read line; do case $line in
  alt) printf '\\033[?1049h\\033[Hsecond-screen' ;;
  main) printf '\\033[?1049l' ;;
  reset) printf '\\033c'; echo after-reset ;;
  *) echo "<$line>" ;;
esac; done
"""


@pytest.mark.parametrize(
    ("sent", "shown", "left"),
    [
        (b"plain", b"plain", False),
        (b"a\x1b[?1049hb", b"a\x1b[2Jb", False),
        (b"a\x1b[?1049lb", b"a\x1b[H\x1b[2Jb", True),
        (b"\x1b[?25;1049;7h", b"\x1b[?25;7h\x1b[2J", False),
        (b"\x1b[?47l", b"\x1b[H\x1b[2J", True),
        (b"\x1b[?1049s", b"", False),
        (b"\x1b[?2004h\x1b[31m\x1b[?1048h", b"\x1b[?2004h\x1b[31m\x1b[?1048h", False),
        (b"a\x1bcb", b"a<reset>b", True),
        (b"\x1b[?10491h\x1b[1049h", b"\x1b[?10491h\x1b[1049h", False),
    ],
)
def test_switches_do_not_get_through(sent: bytes, shown: bytes, left: bool) -> None:
    for size in range(1, len(sent) + 1):
        screens = AlternateScreen(RESET)
        parts = [screens.passed(sent[at : at + size]) for at in range(0, len(sent), size)]
        assert b"".join(parts) == shown
        assert screens.left == left


def test_everything_else_gets_through_unchanged(chance: random.Random) -> None:
    for _ in range(300):
        sent = bytes(chance.choice(b"\x1b\x1b[[?;0147abc\x18\xff") for _ in range(chance.randrange(60)))
        whole = AlternateScreen(RESET).passed(sent + b"z")
        screens, shown, at = AlternateScreen(RESET), b"", 0
        while at < len(sent):
            step = chance.randrange(1, 9)
            shown += screens.passed(sent[at : at + step])
            at += step
        assert shown + screens.passed(b"z") == whole


@pytest.fixture
def shell(lit: Engine, tmp_path: Path) -> Iterator[Shell]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    made = Shell(
        "bash", lit, tmp_path, f"PS1='% '; lamp() {{ {lit.python} -m lamplighter.frontends.cli.main \"$@\"; }}"
    )
    yield made
    made.close()


def attach(shell: Shell, name: str, sees: str) -> None:
    shell.run("seq -f 'earlier-%g' 5")
    shell.type("-l", f"seq -f 'before-%g' 4; lamp attach {name}")
    shell.type("Enter")
    shows(shell, sees)
    assert "before-4" not in shell.screen()


def shows(shell: Shell, *wanted: str, without: str = "no such text") -> None:
    assert wait_until(lambda: all(w in shell.screen() for w in wanted) and without not in shell.screen()), (
        shell.screen()
    )


def leave(shell: Shell, without: str) -> None:
    """Detach: the shell's lines are there, nothing of the session is, and the prompt comes right below."""
    shell.type("C-\\")
    shows(shell, "[detached from one]", without=without)
    wanted = [*(f"before-{number}" for number in range(1, 5)), "[detached from one]", "%"]
    assert wait_until(lambda: shell.screen().rstrip().splitlines()[-6:] == wanted), shell.screen()
    shell.run("echo usable")


def say(shell: Shell, word: str) -> None:
    shell.type("-l", word)
    shell.type("Enter")


def test_the_shells_screen_is_back_after_detaching(lit: Engine, shell: Shell) -> None:
    lit.start("sh", "-c", TWO_SCREENS, name="one")
    attach(shell, "one", "first-screen")
    say(shell, "hello")
    shows(shell, "first-screen", "<hello>")
    leave(shell, "<hello>")


def test_a_session_with_two_screens_has_both(lit: Engine, shell: Shell) -> None:
    lit.start("sh", "-c", TWO_SCREENS, name="one")
    attach(shell, "one", "first-screen")
    say(shell, "hello")
    shows(shell, "<hello>")
    for _ in range(2):
        say(shell, "alt")
        shows(shell, "second-screen", without="first-screen")
        say(shell, "main")
        shows(shell, "first-screen", "<hello>", without="second-screen")
    say(shell, "more")
    shows(shell, "first-screen\n<hello>\n<more>\n")
    leave(shell, "first-screen")


def test_one_that_is_on_its_second_screen_when_people_come_and_go(lit: Engine, shell: Shell) -> None:
    lit.start("sh", "-c", TWO_SCREENS, name="one")
    lit.call("send_input", session="one", text="alt")
    attach(shell, "one", "second-screen")
    leave(shell, "second-screen")
    attach(shell, "one", "second-screen")
    say(shell, "main")
    shows(shell, "first-screen", without="second-screen")
    leave(shell, "first-screen")


def test_a_reset_of_the_sessions_terminal_stays_in_it(lit: Engine, shell: Shell) -> None:
    lit.start("sh", "-c", TWO_SCREENS, name="one")
    attach(shell, "one", "first-screen")
    say(shell, "reset")
    shows(shell, "after-reset", without="first-screen")
    leave(shell, "after-reset")


@pytest.mark.alone
def test_without_a_daemon_the_session_goes_on_a_clear_screen(lit: Engine, shell: Shell) -> None:
    lit.start("sh", "-c", TWO_SCREENS, name="one")
    attach(shell, "one", "first-screen")
    say(shell, "alt")
    shows(shell, "second-screen", without="first-screen")
    lit.call("stop_daemon")
    say(shell, "main")
    say(shell, "hello")
    shows(shell, "<hello>", without="second-screen")
    leave(shell, "<hello>")


def test_an_end_gives_the_shells_screen_back_and_says_where_the_last_one_is(lit: Engine, shell: Shell) -> None:
    started = lit.start("sh", "-c", "echo last-words; read x", name="one")
    attach(shell, "one", "last-words")
    shell.type("Enter")
    shows(shell, "[one ended: exit 0]", f"lamp read {started['id']}", "before-4", without="last-words")
    shell.run(f"lamp read {started['id']} > last")
    assert "last-words" in (Path(shell.environment["HOME"]) / "last").read_text()
