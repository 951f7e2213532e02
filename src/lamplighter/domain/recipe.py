"""How an agent is started with a task, as the operator wrote it down. Knows words; knows no program."""

from __future__ import annotations

from dataclasses import dataclass

from lamplighter.errors import Code, InputError

TASK, MODEL = "{task}", "{model}"


@dataclass(frozen=True, slots=True)
class Recipe:
    """`command` runs one task and leaves; `session` stays for more, and is the same where nothing else is said. `model` are
    the words that choose a model, put after the program's name when one is asked for."""

    command: tuple[str, ...]
    session: tuple[str, ...] = ()
    model: tuple[str, ...] = ()

    def words(self, agent: str, task: str, model: str | None, *, stays: bool) -> tuple[list[str], bool]:
        """The command line; and whether the task is in it, or has to be typed once it runs."""
        first, *rest = self.session if stays and self.session else self.command
        if model is not None and not self.model:
            raise InputError(
                Code.BAD_INPUT,
                f"the agent {agent[:40]!a} has no place for a model",
                f'leave model out, or let the operator write model = ["--model", "{MODEL}"] under [agents.{agent[:40]}]',
            )
        chosen = [word.replace(MODEL, model) for word in self.model] if model is not None else []
        return [first, *chosen, *(word.replace(TASK, task) for word in rest)], any(TASK in word for word in rest)
