"""TAB in real shells, on a real terminal: what is offered, what is inserted, and that nothing ever breaks the line."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lamplighter.frontends.cli.parser import completion
from tests.support.engine import Engine
from tests.support.processes import wait_until
from tests.support.shells import SHELLS, Shell

pytestmark = pytest.mark.shared


@pytest.fixture
def bin_folder(lit: Engine, tmp_path: Path) -> Path:
    """A `lamp` on the PATH that is this one."""
    folder = tmp_path / "bin"
    folder.mkdir()
    lamp = folder / "lamp"
    lamp.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m lamplighter.frontends.cli.main "$@"\n')
    (folder / "lamp-test-tool").write_text("#!/bin/sh\n")
    for program in folder.iterdir():
        program.chmod(0o755)
    lit.environment["PATH"] = f"{folder}:{os.environ['PATH']}"
    return folder


@pytest.fixture(params=list(SHELLS))
def shell(request: pytest.FixtureRequest, lit: Engine, bin_folder: Path, tmp_path: Path) -> Iterator[Shell]:
    for program in (request.param, "tmux"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    made = Shell(request.param, lit, tmp_path)
    yield made
    made.close()


def test_commands_options_and_choices(shell: Shell) -> None:
    shell.completes("lamp prot", "lamp protect")
    shell.completes("lamp start --headl", "lamp start --headless")
    shell.completes("lamp start --kind su", "lamp start --kind subagent")
    shell.completes("lamp start --kind=su", "lamp start --kind=subagent")
    shell.completes("lamp install serv", "lamp install service")
    shell.offers("lamp start --kind ", "task", "subagent", "cron")
    shell.completes("true && lamp prot", "true && lamp protect")
    shell.completes("echo | lamp --json prot", "echo | lamp --json protect")


@pytest.mark.alone
def test_plans_and_selections(shell: Shell, lit: Engine) -> None:
    lit.start("cat", name="one")
    plan = lit.call("cleanup_sessions", selection="one", force=True)["plan"]
    shell.completes("lamp cleanup --apply pl", f"lamp cleanup --apply {plan}")
    shell.completes("lamp cleanup orph", "lamp cleanup orphaned")
    shell.completes("lamp ls left", "lamp ls leftovers")


def test_names_and_ids_of_living_sessions(shell: Shell, lit: Engine) -> None:
    one = lit.start("sleep", "300", name="cron:nightly:42")
    two = lit.start("sleep", "300", name="zebra")
    gone = lit.start("true", name="yesterday")
    lit.call("wait_session", session=gone["id"], until="ended", timeout="120s")
    shell.completes("lamp kill zeb", "lamp kill zebra")
    shell.completes("lamp kill cron:ni", "lamp kill cron:nightly:42")
    shell.completes("lamp kill cron:nightly:", "lamp kill cron:nightly:42")
    telling = next(at for at in range(1, 9) if one["id"][:at] != two["id"][:at])
    shell.completes(f"lamp end {one['id'][:telling]}", f"lamp end {one['id']}")
    shell.completes("lamp start --parent=zeb", "lamp start --parent=zebra")
    shell.leaves("lamp kill yester")
    shell.completes("lamp show yester", "lamp show yesterday")


def test_a_strange_name_is_only_a_word(shell: Shell, lit: Engine, tmp_path: Path) -> None:
    lit.start("sleep", "300", name=f"x;touch&{'y' * 5}|(z)<!#~{{a}}")
    shell.type("-l", "lamp send x")
    shell.type("Tab")
    assert wait_until(lambda: "yyyyy" in shell.line()), shell.screen()
    shell.type("-l", "hello")
    shell.type("Enter")
    assert wait_until(lambda: "sent 6 bytes" in shell.screen()), shell.screen()
    assert sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith(".")) == ["bin"]


def test_folders_and_commands_are_the_shells_own(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "folder-of-mine").mkdir()
    (tmp_path / "folder-a-file").write_text("")
    shell.completes("lamp start --cwd folder-of", "lamp start --cwd folder-of-mine/")
    shell.completes("lamp start --name a:b -- lamp-test-t", "lamp start --name a:b -- lamp-test-tool")
    shell.completes("lamp run lamp-test-t", "lamp run lamp-test-tool")
    shell.completes("lamp start -- cat folder-a", "lamp start -- cat folder-a-file")


@pytest.mark.alone
def test_without_a_daemon_there_is_silence_and_no_daemon(shell: Shell, lit: Engine) -> None:
    shell.leaves("lamp kill zeb")
    shell.completes("lamp kil", "lamp kill")
    assert not (lit.folder / "run" / "daemon.sock").exists()


@pytest.mark.alone
def test_it_is_installed_where_the_shell_finds_it(lit: Engine, bin_folder: Path, tmp_path: Path) -> None:
    lit.environment |= {"HOME": str(tmp_path)}
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "ZDOTDIR", "BASH_COMPLETION_USER_DIR"):
        lit.environment.pop(name, None)
    before = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    for name in SHELLS:
        assert lit.cli("install", "completion", "--shell", name).returncode == 0
        assert "nothing to do" in lit.cli("install", "completion", "--shell", name).stdout
    assert (tmp_path / ".local/share/bash-completion/completions/lamp").exists()
    assert (tmp_path / ".config/fish/completions/lamp.fish").exists()
    assert lit.cli("uninstall", "completion").returncode == 0
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == before


def test_bash_loads_it_by_itself_and_completes_other_commands_in_it(
    lit: Engine, bin_folder: Path, tmp_path: Path
) -> None:
    package = "/usr/share/bash-completion/bash_completion"
    if not os.path.exists(package) or shutil.which("tmux") is None:
        pytest.skip("bash-completion or tmux is not installed")
    lit.environment |= {"HOME": str(tmp_path)}
    lit.environment.pop("XDG_DATA_HOME", None)
    assert lit.cli("install", "completion", "--shell", "bash").returncode == 0
    lit.start("sleep", "300", name="cron:nightly")
    made = Shell("bash", lit, tmp_path, f"PS1='% '; source {package}")
    try:
        made.completes("lamp prot", "lamp protect")
        made.completes("lamp kill cron:ni", "lamp kill cron:nightly")
        made.completes("lamp run --name a:b -- lamp prot", "lamp run --name a:b -- lamp protect")
        made.completes("lamp run lamp prot", "lamp run lamp protect")
    finally:
        made.close()


def test_zsh_gets_it_where_its_own_start_up_files_say(lit: Engine, bin_folder: Path, tmp_path: Path) -> None:
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed")
    (tmp_path / "mine").mkdir()
    (tmp_path / ".zshrc").write_text("echo welcome\nfpath=(~/mine $fpath)\nautoload -Uz compinit; compinit -u\n")
    lit.environment |= {"HOME": str(tmp_path), "SHELL": "/bin/zsh"}
    assert lit.cli("install", "completion").returncode == 0
    assert (tmp_path / "mine" / "_lamp").read_text().startswith("#compdef lamp\n")
    (tmp_path / "mine" / "_lamp").rename(tmp_path / "mine" / "kept")
    (tmp_path / "mine" / "_lamp").write_text("#compdef lamp\n# another's\n")
    assert lit.cli("install", "completion").returncode == 0
    said = subprocess.run(
        ["zsh", "-ic", "print $_comps[lamp]"],
        env=lit.environment,
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
    )
    assert said.stdout.split() == ["welcome", "_lamp"]


def test_an_installed_script_is_loaded_by_fish_itself(lit: Engine, bin_folder: Path, tmp_path: Path) -> None:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    lit.environment |= {"HOME": str(tmp_path)}
    lit.environment.pop("XDG_CONFIG_HOME", None)
    lit.cli("install", "completion", "--shell", "fish")
    said = subprocess.run(
        ["fish", "-c", "complete -C 'lamp prot'"],
        env=lit.environment,
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
    )
    assert said.stdout.startswith("protect")


@pytest.mark.parametrize(
    ("line", "word"), [("lamp kill a:b\\;", "b\\;"), ("lamp kill 'a:b;", "a:b;"), ("lamp kill a:", "")]
)
def test_bash_replaces_what_readline_sees_as_the_word(lit: Engine, line: str, word: str) -> None:
    lit.start("sleep", "300", name="a:b;c")
    found = lit.cli("__complete", "bash", line, word).stdout.splitlines()
    assert found == [{"b\\;": "b\\;c", "a:b;": "a:b;c", "": "b\\;c"}[word]]


def test_a_shell_that_is_not_known(lit: Engine) -> None:
    lit.environment["SHELL"] = "/bin/tcsh"
    done = lit.cli("install", "completion")
    assert done.returncode == 2
    assert "--shell" in done.stderr


def complete(lit: Engine, *words: str) -> list[str]:
    done = lit.cli("__complete", *words)
    assert (done.returncode, done.stderr) == (0, "")
    return [line.partition("\t")[0] for line in done.stdout.splitlines()]


def test_selections(lit: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the grammar itself: commands that take them are completed as soon as they are in the catalogue."""
    monkeypatch.setenv("LAMPLIGHTER_HOME", str(lit.folder))
    lit.start("sleep", "300", name="one", kind="cron")
    place = completion._selections  # pyright: ignore[reportPrivateUsage]
    found = [text for text, _ in place("idle,ki")]
    assert {"idle,kind:", "idle,stuck", "idle,one"} <= set(found)
    assert "idle+kind:cron" in [text for text, _ in place("idle+kind:c")]
    assert [text for text, _ in place("owner:")] == [f"owner:{lit.show('one')['owner']}"]


@pytest.mark.parametrize(
    "words",
    [
        [], ["bash"], ["bash", ""], ["bash", "lamp 'open"], ["bash", 'lamp show "a b'], ["bash", "lamp show $(touch x)", ")"],
        ["zsh"], ["zsh", "nonsense", ""], ["fish", "show", "\udcff"], ["bash", "lamp show \\"], ["bash", "lamp -- x", "x"],
    ],
    ids=repr,
)  # fmt: skip
def test_nothing_that_is_typed_makes_a_noise(lit: Engine, words: list[str]) -> None:
    lit.call("get_status")
    done = lit.cli("__complete", *words)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.alone
def test_a_daemon_that_does_not_answer_holds_no_shell_up(lit: Engine) -> None:
    lit.call("get_status")
    os.kill(lit.daemon()[0], 19)
    try:
        began = time.monotonic()
        assert complete(lit, "zsh", "show", "") == []
        assert time.monotonic() - began < 120
    finally:
        os.kill(lit.daemon()[0], 18)


def test_it_imports_nothing_heavy(lit: Engine) -> None:
    lit.start("sleep", "300", name="one")
    script = (
        "import sys; from lamplighter.frontends.cli.main import main; main(['__complete', 'zsh', 'show', '']);"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"sys = __import__('sys'); sys.path += {sys.path!r}; {script}"],
        env=lit.environment, capture_output=True, text=True, timeout=200, check=True,
    )  # fmt: skip
    assert done.stdout.startswith("one\t")
    heavy = {"pydantic", "sqlite3", "asyncio", "rich", "argparse", "subprocess", "pyghostty", "dataclasses"}
    assert not heavy & set(done.stderr.split())
