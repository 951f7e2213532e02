"""The page's files, as they are in the package: read once, compressed once, known by their hash. Knows no session.

They say nothing of this machine: whoever fetches them has a page that asks for a login.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from posixpath import dirname, join, normpath

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "json": "application/json",
    "txt": "text/plain; charset=utf-8",
}
_STYLE = "/style.css"
_MODULES = "<!-- modules -->"
_FIRST = ("/js/app.js", "/js/views/sessions.js")
_IMPORT = re.compile(rb'^(?:import|export)\b[^;"]*? from "(\.[^"]+)"', re.MULTILINE)
# No inline style either: our xterm.js has its own through the object model (scripts/vendor/build.mjs).
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SAFE: list[tuple[bytes, bytes]] = [
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


@dataclass(frozen=True, slots=True)
class Asset:
    data: bytes
    packed: bytes
    kind: str
    tag: bytes

    def headers(self, *, packed: bool) -> list[tuple[bytes, bytes]]:
        found = [
            (b"content-type", self.kind.encode()),
            (b"content-length", str(len(self.packed if packed else self.data)).encode()),
            (b"etag", self.tag),
            (b"cache-control", b"no-cache"),
            (b"vary", b"accept-encoding"),
            *SAFE,
        ]
        return [*found, (b"content-encoding", b"gzip")] if packed else found


@cache
def assets() -> dict[str, Asset]:
    """By path: `/`, `/style.css`, `/js/app.js`."""
    found = dict(_walk(files("lamplighter.frontends.web") / "static", ""))
    styles = sorted((path for path in found if path.endswith(".css")), key=lambda path: ("base" not in path, path))
    # One file of all: a browser asks for six things at a time, and paints nothing before it has every style.
    found[_STYLE] = b"\n".join(found.pop(path) for path in styles)
    index = found.pop("/index.html").decode().replace(_MODULES, "\n".join(_module_links(found)))
    return {path: _asset(path, data) for path, data in {**found, "/": index.encode()}.items()}


def _module_links(found: dict[str, bytes]) -> Iterator[str]:
    """What the page and its first view are made of, named at once: a browser need not read one module to learn of the next."""
    named: set[str] = set()
    for path in _FIRST:
        for module in _imported(found, path, named):
            yield f'<link rel="modulepreload" href="{module}">'


def _imported(found: dict[str, bytes], path: str, named: set[str]) -> Iterator[str]:
    """A module and all that it cannot do without, each once."""
    if path in named:
        return
    named.add(path)
    yield path
    for name in _IMPORT.findall(found[path]):
        yield from _imported(found, normpath(join(dirname(path), name.decode())), named)


def _walk(folder: Traversable, path: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _walk(entry, f"{path}/{entry.name}")
        elif entry.name.rpartition(".")[2] in _TYPES:
            yield f"{path}/{entry.name}", entry.read_bytes()


def _asset(path: str, data: bytes) -> Asset:
    kind = _TYPES["html" if path == "/" else path.rpartition(".")[2]]
    tag = f'"{hashlib.sha256(data).hexdigest()[:32]}"'.encode()
    return Asset(data, gzip.compress(data, 9, mtime=0), kind, tag)
