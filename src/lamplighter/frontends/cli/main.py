"""`lamp`: words in, exit status out. Finds the command and runs it; the one place where errors become a status.

Imports only what every command needs; a command's own module is imported when it is asked for.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Sequence

from lamplighter import __version__
from lamplighter.errors import Code, InputError, LampError, UnavailableError
from lamplighter.frontends.cli.catalogue import Catalogue, load
from lamplighter.frontends.cli.command import Command
from lamplighter.frontends.cli.display.output import CommandOutput, is_writable, silence
from lamplighter.frontends.cli.exit_status import BROKEN_PIPE, INTERRUPTED, status_of
from lamplighter.frontends.cli.parser.arguments import parse


def main(argv: list[str] | None = None) -> int:
    """The exit status of `lamp` with these words."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["__complete"]:
        from lamplighter.frontends.cli.parser import completion

        return completion.main(words[1:])
    try:
        return _guarded(words)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        silence()
        return BROKEN_PIPE


def _guarded(words: list[str]) -> int:
    output = CommandOutput(as_json=_wants_json(words))
    try:
        return _dispatch(words, output)
    except LampError as error:
        return _report(output, error)
    except BrokenPipeError:
        raise
    except OSError as error:
        if not is_writable():
            silence()
        return _report(output, _from_system(error))
    except Exception as error:
        import traceback

        traceback.print_exc()
        fault = UnavailableError(
            Code.INTERNAL,
            f"a fault in lamp itself: {type(error).__name__}: {error}",
            "the lines above help to mend it; please report them",
        )
        return _report(output, fault)


def _report(output: CommandOutput, error: LampError) -> int:
    output.error(error)
    return status_of(error.code)


def _dispatch(words: list[str], output: CommandOutput) -> int:
    name, rest = _split(words)
    commands = load()
    if name in ("--version", "-V"):
        return _version(output)
    if name in ("help", "--help", "-h"):
        return _help(commands, rest, output)
    if name is None:
        _check_platform()
        return _overview(output)
    command = _find(commands, name, rest)
    arguments = parse(command, rest)
    output.as_json = bool(arguments.options.get("json")) or "--json" in words[: len(words) - len(rest)]
    if arguments.options.get("help"):
        return _help(commands, [name], output)
    _check_platform()
    return command.run(arguments, output)


def _check_platform() -> None:
    if sys.platform != "linux":
        raise UnavailableError(
            Code.UNSUPPORTED,
            f"Lamplighter does not run on {sys.platform} yet: it needs Linux's subreapers, pidfds and /proc",
            "run it on Linux, or in a Linux container or virtual machine",
        )


def _split(words: list[str]) -> tuple[str | None, list[str]]:
    """The command's name, and what comes after it; --json may stand before it."""
    at = 0
    while at < len(words) and words[at] == "--json":
        at += 1
    if at == len(words):
        return None, []
    return words[at], words[at + 1 :]


def _wants_json(words: list[str]) -> bool:
    """A guess that holds until the words are understood, so that an error about them comes out as was asked."""
    return "--json" in (words[: words.index("--")] if "--" in words else words)


def _find(commands: Catalogue, name: str, rest: Sequence[str] = ()) -> Command:
    if name in commands:
        return commands[name]
    from lamplighter.frontends.cli.parser import suggestions

    what = "option" if name.startswith("-") else "command"
    raise InputError(Code.BAD_INPUT, f"lamp has no {what} {name[:40]!r}", suggestions.for_command(commands, name, rest))


def _help(commands: Catalogue, words: list[str], output: CommandOutput) -> int:
    from lamplighter.frontends.cli.parser import help_pages

    names = [word for word in words if word not in ("--json", "--help", "-h")]
    chosen = [_find(commands, name) for name in names]
    if output.as_json:
        output.document({"commands": [command.document() for command in chosen or commands.values()]})
    elif not chosen:
        output.blocks(help_pages.overview(commands))
    for command in chosen if not output.as_json else []:
        output.blocks(help_pages.page(command))
    return 0


def _overview(output: CommandOutput) -> int:
    """`lamp` alone."""
    from lamplighter.frontends.cli.daemon_client import DaemonClient
    from lamplighter.frontends.cli.views.sessions import overview
    from lamplighter.home import find_home

    output.show(DaemonClient(find_home()).call("get_overview", {}), overview)
    return 0


def _version(output: CommandOutput) -> int:
    if output.as_json:
        output.document({"version": __version__})
    else:
        output.out.write(f"lamp {__version__}\n")
        output.out.flush()
    return 0


def _from_system(error: OSError) -> LampError:
    """What the system refused to us here, at the command's own end."""
    code = Code.DISK_FULL if error.errno in (errno.ENOSPC, errno.EDQUOT) else Code.INTERNAL
    return UnavailableError(code, f"the system refused: {error}", "check where the output goes, and the state folder")


if __name__ == "__main__":
    sys.exit(main())
