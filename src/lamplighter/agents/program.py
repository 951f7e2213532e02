"""What is known of an agent program."""

from __future__ import annotations

from dataclasses import dataclass

_INTERPRETERS = frozenset({"node", "nodejs", "bun", "deno", "python", "python3", "sh", "bash", "env"})


@dataclass(frozen=True, slots=True)
class Program:
    """`names` are what its executable or script is called; `packages` the npm packages whose scripts are its own. `prompt` is
    what is added to its command to give it a first prompt in its terminal, before the prompt itself; None where it takes none."""

    name: str
    names: frozenset[str]
    packages: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    prompt: tuple[str, ...] | None = None

    def runs(self, words: list[str]) -> bool:
        """Whether this command line is the program itself: by its own name, or as a script under an interpreter."""
        if not words:
            return False
        if self._is(words[0]):
            return True
        if _base(words[0]).rstrip("0123456789.") not in _INTERPRETERS:
            return False
        script = next((word for word in words[1:] if not word.startswith("-") and "=" not in word), "")
        return self._is(script)

    def _is(self, word: str) -> bool:
        if any(f"/{package}/" in word for package in self.packages):
            return True
        name = _base(word)
        for ending in (".js", ".mjs", ".cjs", ".py", ".exe"):
            name = name.removesuffix(ending)
        return name in self.names


def _base(word: str) -> str:
    return word.rpartition("/")[2].lstrip("-")
