"""The page's files, as they are in the package: read once, compressed once, known by their hash. Knows no session.

They say nothing of this machine: whoever fetches them has a page that asks for a login.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from posixpath import dirname, join, normpath

from lamplighter.lazy_dataclass import dataclass

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "json": "application/json",
    "txt": "text/plain; charset=utf-8",
}
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


@dataclass(frozen=True)
class Asset:
    """`lasting`: its path says which version it is, so a browser need not ask again."""

    data: bytes
    packed: bytes
    kind: str
    tag: bytes
    lasting: bool

    def headers(self, *, packed: bool) -> list[tuple[bytes, bytes]]:
        found = [
            (b"content-type", self.kind.encode()),
            (b"content-length", str(len(self.packed if packed else self.data)).encode()),
            (b"etag", self.tag),
            (b"cache-control", b"public, max-age=31536000, immutable" if self.lasting else b"no-cache"),
            (b"vary", b"accept-encoding"),
            *SAFE,
        ]
        return [*found, (b"content-encoding", b"gzip")] if packed else found


@cache
def assets() -> dict[str, Asset]:
    """By path: `/` and the icon; the rest below `/v/HASH`, the hash that of all of them: modules name each other relatively."""
    found = dict(_walk(files("lamplighter.frontends.web") / "static", ""))
    index, icon = found.pop("/index.html").decode(), found.pop("/icon.svg")
    found["/style.css"] = _style({path: found.pop(path) for path in list(found) if path.endswith(".css")})
    root = f"/v/{hashlib.sha256(b''.join(found[path] for path in sorted(found))).hexdigest()[:16]}"
    for mark, links in _links(root, found).items():
        index = index.replace(mark, links)
    lasting = {f"{root}{path}": _asset(path, data, lasting=True) for path, data in found.items()}
    return {**lasting, "/": _asset("/.html", index.encode()), "/icon.svg": _asset("/icon.svg", icon)}


def _style(files: dict[str, bytes]) -> bytes:
    """One file: a browser paints nothing before it has every style. What all views are made of comes first."""
    return b"\n".join(files[path] for path in sorted(files, key=lambda path: ("base" not in path, path)))


def _links(root: str, found: dict[str, bytes]) -> dict[str, str]:
    """What the page and its first view are made of is named at once: a browser need not read one module to learn of the next."""
    named: set[str] = set()
    modules = [module for path in _FIRST for module in _imported(found, path, named)]
    return {
        "<!-- style -->": f'<link rel="stylesheet" href="{root}/style.css">',
        "<!-- modules -->": "\n".join(f'<link rel="modulepreload" href="{root}{path}">' for path in modules),
        "<!-- script -->": f'<script type="module" src="{root}/js/app.js"></script>',
    }


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


def _asset(path: str, data: bytes, *, lasting: bool = False) -> Asset:
    tag = f'"{hashlib.sha256(data).hexdigest()[:32]}"'.encode()
    return Asset(data, gzip.compress(data, 9, mtime=0), _TYPES[path.rpartition(".")[2]], tag, lasting)
