"""What is known of an agent program."""

from __future__ import annotations

from collections.abc import Sequence

from lamplighter.lazy_dataclass import dataclass

_INTERPRETERS = frozenset({"node", "nodejs", "bun", "deno", "python", "python3", "sh", "bash", "env"})
_SOURCES = (".js", ".mjs", ".cjs", ".py")


@dataclass(frozen=True)
class Program:
    """`names` are what its executable or script is called; `packages` the npm packages whose scripts are its own. `marks` are
    variables that say to what it starts that it runs inside; `inherited` others that are of no use to another agent there."""

    name: str
    names: frozenset[str]
    packages: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    inherited: tuple[str, ...] = ()

    def runs(self, words: Sequence[str]) -> bool:
        """Whether this command line is the program itself: by its own name, or as a script under an interpreter."""
        return self.length(words) > 0

    def is_alike(self, words: Sequence[str]) -> bool:
        """Whether only the name of a source file says so, as anybody may call theirs: programs are installed without an
        ending, or in a package of theirs."""
        length = self.length(words)
        word = words[length - 1] if length else ""
        return length > 1 and word.endswith(_SOURCES) and not self._is_packaged(word)

    def length(self, words: Sequence[str]) -> int:
        """How many of these words are the program itself: one, or all up to its script; 0 when it is another."""
        if not words:
            return 0
        if self._is(words[0]):
            return 1
        if _base(words[0]).rstrip("0123456789.") not in _INTERPRETERS:
            return 0
        script = next((n for n, word in enumerate(words[1:], 1) if not word.startswith("-") and "=" not in word), 0)
        return script + 1 if script and self._is(words[script]) else 0

    def _is(self, word: str) -> bool:
        if self._is_packaged(word):
            return True
        name = _base(word)
        for ending in (*_SOURCES, ".exe"):
            name = name.removesuffix(ending)
        return name in self.names

    def _is_packaged(self, word: str) -> bool:
        return any(f"/{package}/" in word for package in self.packages)


def _base(word: str) -> str:
    return word.rpartition("/")[2].lstrip("-")
