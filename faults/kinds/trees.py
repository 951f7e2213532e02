"""Nasty trees, in each driver, ended in each way: nothing of them is left, or it is named."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from faults.invariants import left_over
from faults.ledger import Held
from faults.stage import Stage
from tests.support import fugitives
from tests.support.engine import ESCAPEES
from tests.support.processes import Process, end_marked, inspect, marked, none_left, wait_until

_SIMPLE: tuple[str, ...] = (
    "nohup", "deaf", "stopped", "background", "orphan", "setsid", "setsid-scrubbed", "daemon", "daemon-scrubbed", "hopper",
)  # fmt: skip
_FUGITIVES = (
    "leaderless", "leaderless-main", "namespaced", "traced", "fake-tmux", "own-tmux", "gone-folder", "respawning", "flooding",
)  # fmt: skip
_WAYS = ("kill", "kill", "end", "command", "exit", "run", "shim lost")
_SURVIVORS = 8
_READY = 60.0
_RESTLESS = ("hopper", "bomb", "respawning")


def run(stage: Stage) -> None:
    scene = Trees(stage)
    try:
        while stage.done < stage.limit:
            scene.one()
        scene.check_bystanders()
    finally:
        scene.close()
    stage.check("healthy")


class Trees:
    """One after another in one engine; a person's own tmux session and a process beside them must see nothing of it."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.folder = stage.engine.folder
        self.beside: list[subprocess.Popen[bytes]] = []
        self.namespace = 0
        self.tmux = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "SHELL": "/bin/sh", "LANG": "C.UTF-8",
                     "TMUX_TMPDIR": str(self.folder)}  # fmt: skip
        self._spawn("sleep", "1200")
        subprocess.run(
            ["tmux", "-f", "/dev/null", "new-session", "-d", "-s", "person", "exec sleep 1200"],
            env=self.tmux,
            check=True,
        )
        self.person = int(self._ask_tmux("display-message", "-p", "-t", "person", "#{pane_pid}"))

    def _ask_tmux(self, *words: str) -> str:
        return subprocess.run(["tmux", *words], env=self.tmux, check=True, capture_output=True, text=True).stdout

    def _spawn(self, *words: str) -> subprocess.Popen[bytes]:
        made = subprocess.Popen(words, stdin=subprocess.DEVNULL, start_new_session=True)
        self.beside.append(made)
        return made

    # -- one tree

    def one(self) -> None:
        chance, stage = self.stage.chance, self.stage
        driver = chance.choice(["terminal", "headless", "tmux"])
        way = chance.choice(_WAYS)
        name = chance.choice(_FUGITIVES) if chance.random() < 0.5 else "escapees"
        if name == "escapees":
            names = ["bomb"] if chance.random() < 0.05 else chance.sample(_SIMPLE, chance.randrange(1, 5))
        else:
            names = [name]
        if name == "traced" and way in ("exit", "run"):
            way = "kill"  # it must be there to be traced
        if driver == "tmux" and way == "run":
            driver = "terminal"
        nonce = f"{stage.token}-{chance.getrandbits(48):012x}"
        ready = self.folder / f"ready-{nonce[-12:]}"
        if name == "namespaced" and not self._namespace():
            stage.skipped["namespaced"] = "no pid namespace can be made here"
            return
        command = self._command(names, nonce, ready, exits=way in ("exit", "run"), traced=name == "traced")
        stage.inject("+".join(names), f"{driver}, {way}, {nonce}")
        with stage.ledger.lock:
            stage.ledger.starts[nonce] = None
        try:
            self._end(names, driver, way, nonce, ready, command)
        finally:
            self._clear(nonce)

    def _command(self, names: list[str], nonce: str, ready: Path, exits: bool, traced: bool) -> list[str]:
        python = self.stage.engine.python
        if names[0] in fugitives.FUGITIVES or traced:
            program = "rest" if traced else names[0]
            words = [python, "-I", "-S", fugitives.__file__, program, "--mark", nonce, "--ready", str(ready)]
            words += ["--folder", str(self.folder), "--namespace", str(self.namespace)]
        else:
            words = [python, "-I", "-S", ESCAPEES, *names, "--mark", nonce, "--report", str(ready), "--lifetime", "120"]
        said = f"echo run $$ >> {self.stage.witnesses / nonce}; "
        if not exits:
            return ["sh", "-c", f"{said}exec {shlex.join(words)}"]
        wait = f"while [ ! -e {ready} ]; do sleep 0.02; done; exit 3 # {nonce}"
        return ["sh", "-c", f"{said}{shlex.join(words)} & {wait}"]

    def _end(self, names: list[str], driver: str, way: str, nonce: str, ready: Path, command: list[str]) -> None:
        stage = self.stage
        if way == "run":
            self._run(names, nonce, driver, command)
            return
        given: dict[str, Any] = {"headless": driver == "headless", "tmux": driver == "tmux"}
        started = stage.tell(
            "start_session", key=nonce, command=command, cwd="/", name=nonce, environment=self.tmux, **given
        )
        if started is None:
            return
        held = stage.ledger.hold(Held(started["id"], nonce, 0, end_asked=True))
        if not wait_until(ready.exists, _READY):
            raise RuntimeError(f"the tree of {held.id} ({names}) was never up")
        if names == ["traced"] and not self._trace(held):
            stage.skipped["traced"] = "no process can be traced here"
            return
        before = (
            {(process.pid, process.start_ticks) for process in marked(nonce)}
            if way != "exit"
            else set[tuple[int, int]]()
        )
        answer = self._finish(held, way)
        if answer is not None:
            steady = way == "kill" and not set(names) & set(_RESTLESS)
            self._judge(held, "+".join(names), answer, before if steady else set())
            if names == ["traced"]:
                self._let_go(held, answer)

    def _finish(self, held: Held, way: str) -> dict[str, Any] | None:
        stage = self.stage
        if way == "exit":
            return self._over(held)
        if way == "command":
            return self._by_command(held)
        if way == "shim lost":
            shim = stage.shim(held)
            if shim is not None:
                held.shims_lost += 1
                stage.engine.kill(shim)
                stage.step(f"the shim of {held.id} is killed {shim}")
        return stage.kill(
            held, "end_session" if way == "end" else "kill_session", grace=stage.chance.choice(["0s", "0.1s"])
        )

    def _by_command(self, held: Held) -> dict[str, Any] | None:
        try:
            done = self.stage.engine.cli("kill", held.id, "--force", "--grace", "0", "--json", timeout=60)
        except subprocess.TimeoutExpired:
            self.stage.ledger.unanswered.append(f"lamp kill {held.id} did not return in 60 s")
            return None
        if done.returncode not in (0, _SURVIVORS):
            self.stage.step(f"lamp kill {held.id}: {done.returncode} {done.stderr}")
            return None
        told: dict[str, Any] = json.loads(done.stdout)
        held.ended = told
        survived = told["state"] != "ended"
        if survived != (done.returncode == _SURVIVORS):
            self.stage.violate(
                "no process is left unnamed",
                f"lamp kill {held.id} exits {done.returncode} and says {told['state']}",
            )
        return told

    def _over(self, held: Held) -> dict[str, Any] | None:
        """It exits by itself; the row says when it has ended."""

        def row() -> dict[str, Any]:
            facts = self.stage.facts_or_none()
            return (facts.sessions.get(held.id) if facts else None) or {}

        if not wait_until(lambda: row().get("state") == "ended", 30):
            living = [process.pid for process in marked(held.nonce)]
            shown = self.stage.tell("get_session", session=held.id) or {}
            named = {one["pid"] for one in shown.get("survivors", [])}
            if set(living) - named or not living:
                state = f"{held.id} has exited and is {shown.get('state')}"
                self.stage.violate("no process is left unnamed", f"{state}; {living} live, named are {sorted(named)}")
            return None
        return {"state": "ended", **(row()["ending"] or {})}

    def _run(self, names: list[str], nonce: str, driver: str, command: list[str]) -> None:
        """`lamp run` returns with the command's status, and what it left behind is gone."""
        words = ["run", "--name", nonce, *(["--headless"] if driver == "headless" else []), "--", *command]
        try:
            done = self.stage.engine.cli(*words, timeout=60, cwd="/")
        except subprocess.TimeoutExpired:
            self.stage.ledger.unanswered.append(f"lamp run with {names} did not return in 60 s ({nonce})")
            return
        self.stage.step(f"lamp run: {done.returncode} {done.stderr[-200:]}")
        left = [(process.pid, process.start_ticks) for process in marked(nonce)]
        if done.returncode != _SURVIVORS and (left or not none_left(nonce)):
            self.stage.violate(
                "no process is left unnamed",
                f"lamp run with {names} returned {done.returncode}, and {left} live ({nonce})",
            )

    def _judge(self, held: Held, names: str, answer: dict[str, Any], before: set[tuple[int, int]]) -> None:
        stage, certificate = self.stage, answer["certificate"]
        living = [(process.pid, process.start_ticks) for process in _living(held.nonce)]
        zombies = [pid for pid, start in before if (pid, start) not in living and _traced_zombie(pid)]
        if answer["state"] == "ended":
            for found in left_over(f"{held.id} ({names})", living, certificate):
                stage.violate(found.rule, found.text)
            listed = {(one["pid"], one["start_ticks"]) for one in certificate["processes"]}
            if before - listed and not living and not zombies:
                stage.violate("a certificate names all", f"{held.id} ({names}) does not name {sorted(before - listed)}")
            return
        named = {one["pid"] for one in certificate["survivors"]}
        held.ended = None
        missing = {pid for pid, _ in living} - named
        if not named or missing:
            told = f"{held.id} ({names}) is {answer['state']}, names {sorted(named)}"
            stage.violate("no process is left unnamed", f"{told}; living {living}, zombies {zombies}")

    # -- what some of them need

    def _trace(self, held: Held) -> bool:
        """A tracer outside the session takes hold of its main process."""
        ready = self.folder / f"tracer-{held.nonce[-12:]}"
        target = max((process.pid for process in marked(held.nonce)), default=0)
        self._spawn(sys.executable, "-I", "-S", fugitives.__file__, "trace", "--target", str(target), "--mark",
                    f"{self.stage.token}-tracer", "--ready", str(ready))  # fmt: skip
        return wait_until(ready.exists, 20)

    def _let_go(self, held: Held, answer: dict[str, Any]) -> None:
        """What a tracer held was named; once it lets go, the session has ended."""
        if answer["state"] == "ended":
            self.stage.violate("no process is left unnamed", f"{held.id} is traced and was said to have ended")
        self._end_beside()
        if self._over(held) is None:
            self.stage.step(f"{held.id} has not ended after its tracer")

    def _namespace(self) -> bool:
        """A pid namespace that is there before the session: its init, as seen from here."""
        if not self.namespace and shutil.which("unshare"):
            user = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
            made = self._spawn("unshare", *user, "--pid", "--fork", "--kill-child", "sleep", "1200")
            children = Path(f"/proc/{made.pid}/task/{made.pid}/children")
            wait_until(lambda: made.poll() is not None or children.read_text().strip(), 10)
            if made.poll() is None:
                self.namespace = int(children.read_text().split()[0])
        return bool(self.namespace)

    def _clear(self, nonce: str) -> None:
        end_marked(nonce)
        self._end_beside()
        for path in self.folder.glob(f"*{nonce[-12:]}*"):
            path.unlink(missing_ok=True)

    def _end_beside(self) -> None:
        for process in self.beside[1:]:
            if process.args[0] != "unshare":  # type: ignore[index]
                process.kill()
                process.wait()
                self.beside.remove(process)

    def check_bystanders(self) -> None:
        if self.beside[0].poll() is not None or inspect(self.person) is None:
            self.stage.violate(
                "nobody ends what is another's", "a process beside the sessions, or a person's tmux session, is gone"
            )

    def close(self) -> None:
        for process in self.beside:
            process.kill()
            process.wait()
        with suppress(subprocess.CalledProcessError):
            self._ask_tmux("kill-session", "-t", "person")


def _living(nonce: str) -> list[Process]:
    """What lives when an end is acknowledged, by several looks: one can miss what keeps moving."""
    for _ in range(10):
        if found := marked(nonce):
            time.sleep(0.05)  # what is between its KILL and its last breath is not left over
            return [process for process in marked(nonce) if process] if found else []
    return []


def _traced_zombie(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()
