"""The daemon as a service: a systemd unit of the user's own.

Knows systemd's files and `systemctl --user`; knows nothing of the daemon but how it is started. Why the unit is as it is:
docs/decisions.md.
"""

from __future__ import annotations

import os
import pwd
import shutil
from typing import Any

from lamplighter.errors import Code, InputError, UnavailableError
from lamplighter.frontends.cli.caller_context import own_command
from lamplighter.frontends.cli.installer.installation import Installation
from lamplighter.frontends.cli.installer.own_file import BEFORE, marked, put, standing, take, xdg_folder

NAME = "lamplighter.service"
_FOLDERS = ("LAMPLIGHTER_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME")
_RELOAD = ["systemctl", "--user", "daemon-reload"]
_ENABLE = ["systemctl", "--user", "enable", "--now", NAME]
_DISABLE = ["systemctl", "--user", "disable", "--now", NAME]

_TEXT = """\
[Unit]
Description=Lamplighter, which starts, watches and ends sessions of AI agents

[Service]
Type=notify
NotifyAccess=main
ExecStart={command}
{environment}# A stop or a restart is for the daemon alone: holders and sessions go on.
KillMode=process
# Each session gets a cgroup of its own, which makes its end provable.
Delegate=yes
# One session that runs out of memory, or has many processes, is no reason to stop the rest.
OOMPolicy=continue
TasksMax=infinity
Restart=on-failure
RestartSec=5s

[Install]
WantedBy=default.target
"""


def install(options: dict[str, Any]) -> Installation:
    """The unit, then enabled and started where a user manager can be reached."""
    plan = Installation("service", steps=put(path(), text()))
    if not options.get("no_start"):
        _start(plan, dry=bool(options.get("dry_run")))
    plan.notes += _linger()
    return plan


def uninstall(options: dict[str, Any]) -> Installation:
    """What was there before; the daemon is stopped, sessions go on."""
    found = standing(path())
    plan = Installation("service", steps=take(path()))
    if found == "foreign":
        plan.notes.append(f"{path()} is not ours, and is left alone")
        return plan
    if os.path.lexists(path() + BEFORE):
        plan.notes.append("the unit that was there before is back, not enabled: systemctl --user enable if it was")
    if found != "absent" and not options.get("no_start"):
        if _reachable():
            plan.first, plan.then = [_DISABLE], [_RELOAD]
        elif _booted():
            plan.by_hand = [_DISABLE, _RELOAD]
            plan.notes.append(_why_not())
    return plan


def path() -> str:
    return os.path.join(xdg_folder("XDG_CONFIG_HOME", ".config"), "systemd", "user", NAME)


def text() -> str:
    """The unit for this lamp and this home."""
    environment = "".join(
        f"Environment={quoted(f'{name}={_folder(os.environ[name])}')}\n" for name in _FOLDERS if os.environ.get(name)
    )
    command = " ".join(map(quoted, [*own_command(), "up", "--foreground"]))
    return marked(_TEXT.format(command=command, environment=environment), "lamp uninstall service")


def quoted(word: str) -> str:
    """A word as systemd reads it: no specifier, no variable, no break in it."""
    if any(ord(character) < 32 or ord(character) == 127 for character in word):
        raise InputError(
            Code.BAD_INPUT, f"a unit cannot name this path: {word!a}", "use a path without control characters"
        )
    word = word.replace("%", "%%")
    if word and all(character.isalnum() or character in "/._-+=:@,%~" for character in word):
        return word
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _folder(value: str) -> str:
    return os.path.abspath(os.path.expanduser(value))


def _start(plan: Installation, *, dry: bool) -> None:
    if _reachable():
        # Also without a change: enabling twice does nothing, and one that was disabled or stopped by hand is meant to run.
        if plan.steps or not _is_up():
            plan.then = [_RELOAD, _ENABLE]
        return
    if not _booted() and not dry:
        raise UnavailableError(
            Code.UNSUPPORTED,
            "no systemd runs here, so there is nothing to start the daemon at login",
            f"with cron instead: (crontab -l; echo '@reboot {' '.join(own_command())} up') | crontab - ; "
            "or --no-start to write the unit alone",
        )
    plan.by_hand = [_RELOAD, _ENABLE]
    plan.notes.append(_why_not())


def _reachable() -> bool:
    return _says("show", "--property=Version")


def _is_up() -> bool:
    return _says("is-enabled", "--quiet", NAME) and _says("is-active", "--quiet", NAME)


def _says(*words: str) -> bool:
    import subprocess

    if shutil.which("systemctl") is None:
        return False
    try:
        done = subprocess.run(
            ["systemctl", "--user", *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _booted() -> bool:
    """As systemd itself tells whether it runs the machine."""
    return os.path.isdir("/run/systemd/system") and shutil.which("systemctl") is not None


def _why_not() -> str:
    if not _booted():
        return "no systemd runs here; on a machine that has it, the commands above start the service"
    if not os.environ.get("XDG_RUNTIME_DIR"):
        return (
            "your systemd manager cannot be reached: XDG_RUNTIME_DIR is not set, as after su or sudo; log in properly"
        )
    return "your systemd manager cannot be reached from here; run the commands above in a login of yours"


def _linger() -> list[str]:
    """What becomes of sessions when the user logs out; the unit alone does not decide that."""
    if not _booted():
        return []
    user = pwd.getpwuid(os.getuid()).pw_name
    if os.path.exists(f"/var/lib/systemd/linger/{user}"):
        return [f"linger is on for {user}: the daemon starts with the machine, and sessions outlive your logout"]
    return [
        f"linger is off for {user}: at your last logout systemd ends your manager, and with it the daemon and every session "
        f"started under it, whatever KillUserProcesses says. To keep them: loginctl enable-linger {user}"
    ]
