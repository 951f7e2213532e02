"""What must be so before anything is started: a command that can be, a folder that is there, a program that is found.

Knows words and files; changes nothing.
"""

from __future__ import annotations

import os
import shutil

from lamplighter.errors import Code, Hint, InputError, Option, Use

USUAL_PATH = "/usr/local/bin:/usr/bin:/bin"


def check_command(command: tuple[str, ...], environment: dict[str, str]) -> None:
    if not command or not command[0]:
        raise InputError(
            Code.EMPTY_COMMAND,
            "there is no command to start",
            Hint("give one, as in ", Use("start", command=("bash",))),
        )
    if any("\0" in word for word in (*command, *environment, *environment.values())):
        raise InputError(
            Code.BAD_INPUT, "a command or variable has a NUL in it", "take it out; no program can be given one"
        )
    if not all(map(_is_text, command)):
        raise InputError(
            Code.BAD_INPUT, "a word of the command is no UTF-8", "name it another way, such as by a pattern"
        )
    for name in environment:
        if not name or "=" in name:
            raise InputError(
                Code.BAD_INPUT,
                f"{name[:40]!a} cannot be the name of a variable",
                Hint("give ", Option("env", {"NAME": "VALUE"})),
            )


def check_folder(cwd: str | None) -> str:
    folder = cwd or os.path.expanduser("~")
    if not os.path.isabs(folder) or not os.path.isdir(folder):
        raise InputError(
            Code.NO_SUCH_FOLDER,
            f"there is no folder {folder[:200]!a}",
            Hint("give ", Option("cwd"), " a folder that exists"),
        )
    if not _is_text(folder):
        raise InputError(
            Code.BAD_INPUT,
            f"the name of the folder {folder[:200]!a} is no UTF-8",
            Hint("give ", Option("cwd"), " another"),
        )
    return folder


def _is_text(word: str) -> bool:
    """Whether it can be kept and sent: what the kernel takes as a name need not be text."""
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def find_program(program: str, cwd: str, environment: dict[str, str]) -> str:
    """Where the program is; or NO_SUCH_PROGRAM."""
    path = environment.get("PATH", USUAL_PATH)
    named = os.path.join(cwd, program) if "/" in program else program
    found = shutil.which(named, path=path) if len(program) <= 4096 else None
    if found is None:
        raise InputError(
            Code.NO_SUCH_PROGRAM,
            f"there is no program {program[:100]!a} to run" + ("" if "/" in program else " on the PATH"),
            Hint(
                "check its name, or give its full path; a shell's own words need a shell: ",
                Use("start", command=("sh", "-c", "…")),
            ),
        )
    return os.path.join(cwd, found)
