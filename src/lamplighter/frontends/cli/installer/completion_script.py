"""Completion in the user's shell: the script, and where each shell looks for it.

Knows bash, zsh and fish's folders. What completes to what, `parser.completion` knows.
"""

from __future__ import annotations

import os
import shlex
import shutil
from typing import Any

from lamplighter.errors import Code, InputError
from lamplighter.frontends.cli.caller_context import own_command
from lamplighter.frontends.cli.installer.installation import Installation
from lamplighter.frontends.cli.installer.own_file import marked, put, standing, take, xdg_folder

SHELLS = ("bash", "zsh", "fish")
_BASH_COMPLETION = ("/usr/share/bash-completion/bash_completion", "/etc/profile.d/bash_completion.sh")


def script(shell: str) -> str:
    """With the way to this lamp in it, for when none is on the PATH."""
    with open(os.path.join(os.path.dirname(__file__), "shells", shell), encoding="utf-8") as file:
        text = file.read()
    words = own_command()
    spelt = " ".join(map(_fish_quoted, words)) if shell == "fish" else f"({shlex.join(words)})"
    return text.replace("@LAMP@", spelt)


def install(options: dict[str, Any]) -> Installation:
    shell = options.get("shell") or _own_shell()
    path = _places(shell)[0]
    plan = Installation("completion", steps=put(path, marked(script(shell), "lamp uninstall completion")))
    plan.notes += _advice(shell, path)
    return plan


def uninstall(options: dict[str, Any]) -> Installation:
    """From this shell, or from all of them."""
    shells = [options["shell"]] if options.get("shell") else SHELLS
    plan = Installation("completion")
    for path in (path for shell in shells for path in _places(shell)):
        plan.steps += take(path)
        if standing(path) == "foreign":
            plan.notes.append(f"{path} is not ours, and is left alone")
    return plan


def _own_shell() -> str:
    name = os.path.basename(os.environ.get("SHELL", ""))
    if name not in SHELLS:
        raise InputError(
            Code.BAD_INPUT,
            f"your shell is {name[:40]!a}, and there is no completion for it" if name else "SHELL is not set",
            f"name one with --shell: {', '.join(SHELLS)}",
        )
    return name


def _places(shell: str) -> list[str]:
    """Where the script is put, first; then where else it may have been put before."""
    data = xdg_folder("XDG_DATA_HOME", ".local/share")
    if shell == "bash":
        return [f"{os.environ.get('BASH_COMPLETION_USER_DIR') or f'{data}/bash-completion'}/completions/lamp"]
    if shell == "fish":
        return [f"{xdg_folder('XDG_CONFIG_HOME', '.config')}/fish/completions/lamp.fish"]
    usual = f"{data}/zsh/site-functions"
    mine = [
        folder for folder in _fpath() if folder.startswith(f"{os.path.expanduser('~')}/") and os.access(folder, os.W_OK)
    ]
    return list(
        dict.fromkeys(f"{folder}/_lamp" for folder in (*([usual] if usual in mine else mine[:1]), usual, *mine))
    )


def _fpath() -> list[str]:
    """Where the user's zsh looks, with all that its start-up files add; nothing without a zsh."""
    import subprocess

    if shutil.which("zsh") is None:
        return []
    try:
        done = subprocess.run(
            ["zsh", "-ic", 'print -rl -- "" __lamp__ $fpath'],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=10, check=False, start_new_session=True,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return []
    lines = done.stdout.splitlines()
    return lines[lines.index("__lamp__") + 1 :] if "__lamp__" in lines else []


def _advice(shell: str, path: str) -> list[str]:
    if shell == "zsh" and os.path.dirname(path) not in _fpath():
        folder = shlex.quote(os.path.dirname(path))
        return [f"zsh does not look there yet: put fpath=({folder} $fpath) into ~/.zshrc, before compinit"]
    if shell == "bash" and not any(map(os.path.exists, _BASH_COMPLETION)):
        return [
            "bash looks there only with the package bash-completion; or put source <(lamp completion bash) into ~/.bashrc"
        ]
    return ["it works in every shell that you start from now on"]


def _fish_quoted(word: str) -> str:
    return "'" + word.replace("\\", "\\\\").replace("'", "\\'") + "'"
