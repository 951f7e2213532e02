"""What is checked before a session of kiro-cli is made or spoken to: the program, the folder, the text."""

from __future__ import annotations

import os
import shutil

from lamplighter.compat.kiro import program
from lamplighter.compat.kiro.model import LONGEST_MESSAGE
from lamplighter.compat.kiro.settings import PREFIX, KiroSettings
from lamplighter.errors import Code, Hint, InputError, Use

_USUAL_PATH = "/usr/local/bin:/usr/bin:/bin"


def environment_of(given: dict[str, str] | None) -> dict[str, str]:
    """The client's; where it has none here, as over HTTP, the daemon's own place."""
    if given is not None:
        return given
    return {"PATH": os.environ.get("PATH", _USUAL_PATH), "HOME": os.path.expanduser("~")}


def find_program(environment: dict[str, str], settings: KiroSettings) -> str:
    named = settings.cli_path
    # A path that is not absolute would be looked for in the daemon's folder.
    is_findable = "/" not in named or os.path.isabs(named)
    found = shutil.which(named, path=environment.get("PATH", _USUAL_PATH)) if is_findable else None
    if found is None:
        is_usual = named == program.COMMAND
        raise InputError(
            Code.NO_SUCH_PROGRAM,
            "there is no kiro-cli on the PATH"
            if is_usual
            else f"there is no program {named[:200]!a}: {PREFIX}CLI_PATH",
            Hint("install Kiro's command line, or start ", Use("mcp"), " with a PATH that has it; nothing was run")
            if is_usual
            else "set it to a program's full path, or unset it; nothing was run",
        )
    return found


def check_folder(folder: str | None) -> str:
    if folder is None or not os.path.isabs(folder) or not os.path.isdir(folder):
        raise InputError(
            Code.NO_SUCH_FOLDER,
            f"there is no folder {(folder or '')[:200]!a}",
            "give working_directory as the full path of a folder that exists",
        )
    return folder


def check_message(text: str, field: str) -> None:
    """INVALID_MESSAGE or INVALID_COMMAND, as `field` is the one or the other, to users of kiro-cli-mcp."""
    problem = None
    if not text.strip():
        problem = "is empty"
    elif len(text.encode(errors="replace")) > LONGEST_MESSAGE:
        problem = f"has more than {LONGEST_MESSAGE} bytes"
    elif "\0" in text or not _encodable(text):
        problem = "has characters in it that no program can read"
    if problem:
        hint = "give one such as /help" if field == "command" else "say something that kiro-cli can read"
        raise InputError(Code.BAD_INPUT, f"the {field} {problem}", hint, field=field)


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
