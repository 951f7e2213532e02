"""A full disk, small and of the scene's own: an ending needs no room, nothing acknowledged is lost, and it goes on afterwards."""

from __future__ import annotations

from faults.stage import Stage
from tests.support.disk import fill, make_room


def run(stage: Stage) -> None:
    steady = stage.start("listener")
    while stage.done < stage.limit:
        held, other = stage.start("sleeper"), stage.start("sleeper")
        if held is None or other is None:
            stage.violate("a start exists once", "refused or not answered though there is room")
            return
        stage.remember()
        fill(stage.engine)
        stage.inject("disk filled")
        stage.remember()  # may be refused; when it is acknowledged, it is there
        if stage.chance.random() < 0.5 and (daemon := stage.role("daemon")):
            stage.step("the daemon is killed meanwhile")
            stage.engine.kill(daemon)
        answer = stage.kill(held, stage.chance.choice(["kill_session", "end_session"]))
        if answer is None:
            stage.violate(
                "endings need no room", f"{held.id} could not be ended on a full disk: {stage.ledger.refusals}"
            )
        elif stage.facts().living.get(held.nonce):
            stage.violate("no process is left unnamed", f"{held.id} was ended on a full disk and lives")
        make_room(stage.engine)
        if answer is None:
            stage.kill(held)
        stage.kill(other)
        if steady is not None:
            text = f"after{stage.done}"
            steady.sends[text] = stage.tell("send_input", session=steady.id, text=text) is not None
            stage.settle("it has read", lambda: text in stage.witness(steady), 20)  # noqa: B023
    stage.check()
    stage.end_all()
    stage.check()
