"""`make screenshots`: the main views of the page, light, dark and on a phone, as small PNGs in docs/images.

Knows the addresses of the views; what is on them comes from scripts/scene.py.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts import environment, programs, scene
from tests.support.browser import DESK, PHONE, Visits, chromium

IMAGES = environment.ROOT / "docs" / "images"
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": DESK, "color_scheme": "light"},
    "dark": {"viewport": DESK, "color_scheme": "dark"},
    "phone": {"viewport": PHONE, "color_scheme": "light", "has_touch": True, "device_scale_factor": 2},
}


@dataclass(frozen=True)
class View:
    """`path` may name a session of the scene in braces."""

    name: str
    path: str
    looks: tuple[str, ...] = ("light",)


VIEWS = (
    View("sessions", "#/sessions", ("light", "dark", "phone")),
    View("session", "#/sessions/{docs-review}", ("light", "dark", "phone")),
    View("cleanup", "#/cleanup"),
    View("approvals", "#/approvals"),
    View("memory", "#/memory"),
    View("timeline", "#/timeline", ("light", "dark")),
)


def main() -> None:
    programs.require({"chromium": "chromium", "pngquant": "pngquant"})
    shutil.rmtree(IMAGES, ignore_errors=True)
    with scene.played() as played, chromium() as browser:
        visits = Visits(browser)
        for look, options in LOOKS.items():
            visit = visits.log_in(played.engine, reduced_motion="reduce", timezone_id=scene.zone(), **options)
            for view in VIEWS:
                if look in view.looks:
                    visit.page.goto(_address(visit.page.url, view.path, played.sessions))
                    visit.settle()
                    _shrink(visit.screenshot(IMAGES / f"{view.name}-{look}.png"))
        complaints = [complaint for visit in visits.made for complaint in visit.complaints]
        visits.close()
    for picture in sorted(IMAGES.iterdir()):
        print(f"{picture.stat().st_size / 1000:6.0f} kB  {picture.relative_to(environment.ROOT)}")
    if complaints:
        sys.exit("The page complained:\n" + "\n".join(complaints))


def _address(page: str, path: str, sessions: dict[str, str]) -> str:
    for name, identifier in sessions.items():
        path = path.replace(f"{{{name}}}", identifier)
    return page.partition("#")[0] + path


def _shrink(picture: Path) -> None:
    """With at most 256 colours, which a page has: a third of the size, and no difference to be seen."""
    subprocess.run(["pngquant", "--force", "--skip-if-larger", "--ext", ".png", "--", str(picture)], check=False)


if __name__ == "__main__":
    main()
