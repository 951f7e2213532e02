"""Which scenes a campaign has: from the seed and the number of faults alone, so that any of them can be had again by itself."""

from __future__ import annotations

import random
from dataclasses import dataclass

from faults.kinds import NEEDS_ROOT, SHARES

_WHOLE = sum(share for share, _ in SHARES.values())


@dataclass(frozen=True)
class Scene:
    """One engine and the faults of one kind. `user`: root or ordinary; `cgroup`: whether it may have cgroups."""

    number: int
    kind: str
    faults: int
    seed: str
    user: str
    cgroup: bool


def plan(seed: int, faults: int, only: list[str], users: list[str]) -> list[Scene]:
    """The same whichever kinds are chosen: a kind's scenes do not depend on the others'."""
    made: list[Scene] = []
    for kind, (share, most) in SHARES.items():
        if only and kind not in only:
            continue
        left, number = max(1, round(faults * share / _WHOLE)), 0
        while left > 0:
            chance = random.Random(f"{seed} {kind} {number}")
            user = "root" if kind in NEEDS_ROOT else users[(number + chance.randrange(2)) % len(users)]
            count = min(most, left)
            made.append(Scene(number, kind, count, f"{seed} {kind} {number} {user}", user, chance.random() < 0.6))
            left, number = left - count, number + 1
    random.Random(seed).shuffle(made)
    return [scene for scene in made if scene.user in users]
