"""One step of a talk over ACP: what a message, a prompt or a decision changes, what is to be said, kept and asked.

A step is made on a copy of the exchange and counts once that is stored: so it can be made again after a crash, and a message is
taken in once. Knows the protocol; does nothing itself.
"""

from __future__ import annotations

import json
from dataclasses import field
from typing import Any, cast

from lamplighter import __version__
from lamplighter.domain.memory.exchange import Exchange, Phase
from lamplighter.engine.backends.acp import messages as words
from lamplighter.engine.backends.acp.transcript import render
from lamplighter.lazy_dataclass import dataclass

_LONGEST_ERROR = 500
_MOST_ASKED = 20
_MOST_MODELS = 30
_ALLOW, _REJECT = ("allow_once", "allow_always"), ("reject_once", "reject_always")


@dataclass
class Ask:
    """The operator is to decide: `call` is the number of the agent's request, as JSON."""

    call: str
    title: str
    arguments: dict[str, Any]


@dataclass
class AcpStep:
    """`entries` are for the conversation, `asks` for the operator, `withdrawn` are approvals that nobody needs any more,
    `used` those that were granted and have come to the agent."""

    exchange: Exchange
    at: float
    entries: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    asks: list[Ask] = field(default_factory=list[Ask])
    withdrawn: list[str] = field(default_factory=list[str])
    used: list[str] = field(default_factory=list[str])

    # -- ours

    def begin(self) -> None:
        if self.exchange.phase is Phase.NEW:
            self.exchange.phase = Phase.GREETING
            self._request(words.INITIALIZE, words.initialize(__version__))

    def prompt(self, text: str, by: str, key: str) -> None:
        """Said to the agent when it has nothing else to do; the others wait in the order in which they came."""
        self.exchange.take_key(key)
        self.exchange.queue.append({"key": key, "text": text, "by": by})
        self._next_turn()

    def cancel(self, by: str) -> bool:
        """The turn that runs is to stop; False when none does. The agent says itself when it has."""
        exchange = self.exchange
        if exchange.turn is None or exchange.conversation is None:
            return False
        if not exchange.turn.get("cancelled"):
            exchange.turn["cancelled"] = by
            self._notify(words.CANCEL, words.cancel(exchange.conversation))
        for call in list(exchange.asked):
            self.answer(call, None, by)
        return True

    def answer(self, call: str, grant: bool | None, by: str) -> None:
        """To a request for permission: granted, refused, or (None) not decided any more. Once."""
        asked = self.exchange.asked.pop(call, None)
        if asked is None:
            return
        options: dict[str, str] = asked["options"]
        kinds = () if grant is None else _ALLOW if grant else _REJECT
        option = next((options[kind] for kind in kinds if kind in options), None)
        self._say({"id": json.loads(call), "result": words.chosen(option)})
        word = "cancelled" if option is None else "granted" if grant else "refused"
        self._keep({"kind": "decision", "title": asked["title"], "decision": word, "by": by})
        (self.used if grant else self.withdrawn).append(asked["approval"])

    def close(self) -> str | None:
        """Tell the agent that there is no more to come; the number of the request, where the agent has a word for it."""
        exchange = self.exchange
        exchange.queue.clear()
        if exchange.phase is not Phase.READY or exchange.conversation is None:
            return None
        exchange.phase = Phase.CLOSED
        if not exchange.abilities.get("close"):
            return None
        return self._request(words.CLOSE, words.close_session(exchange.conversation))

    def deafen(self) -> None:
        """The agent has closed its input: what was to be said cannot be."""
        exchange = self.exchange
        exchange.outbox.clear()
        exchange.queue.clear()
        if exchange.turn is not None:
            self._stop("error", {}, "the agent does not read what it is told any more")
            exchange.outbox.clear()
        if exchange.phase is not Phase.CLOSED:
            self._give_up("the agent does not read what it is told any more")

    def end(self) -> None:
        """The agent is gone: nothing of what was open comes any more."""
        self._finish_message()
        self.exchange.queue.clear()
        for call in list(self.exchange.asked):
            self.withdrawn.append(self.exchange.asked.pop(call)["approval"])
        if self.exchange.turn is not None:
            self._stop("ended", {}, "the agent is gone")
        self.exchange.phase = Phase.CLOSED
        self.exchange.outbox.clear()
        self.exchange.calls.clear()

    # -- the agent's

    def hear(self, line: bytes) -> None:
        """A line of its output. What is no message of the protocol stays in the log alone."""
        try:
            message: Any = json.loads(line)
        except (ValueError, RecursionError):
            return
        for each in cast("list[Any]", message) if isinstance(message, list) else [message]:
            if isinstance(each, dict):
                self._hear(cast("dict[str, Any]", each))

    def lose(self, size: int) -> None:
        """Output that was rotated away before it could be read."""
        self._keep({"kind": "lost", "bytes": size})

    def _hear(self, message: dict[str, Any]) -> None:
        method, number = message.get("method"), message.get("id")
        if isinstance(method, str):
            if number is None:
                if method == words.UPDATE:
                    self._take_update(message.get("params"))
            elif method == words.PERMISSION:
                self._take_permission(number, message.get("params"))
            else:
                self._refuse(number, words.UNKNOWN_METHOD, f"Lamplighter has no {method[:100]} for agents")
            return
        called = self.exchange.calls.pop(str(number), None)
        if called is None:
            return
        error = message.get("error")
        if error is not None:
            self._failed(called, cast("dict[str, Any]", error) if isinstance(error, dict) else {})
        else:
            self._answered(called, message.get("result"))

    def _take_update(self, params: Any) -> None:
        conversation, entry = words.update(params)
        known = self.exchange.conversation
        if entry is not None and (known is None or conversation in (known, None)):
            self._keep(entry)

    def _take_permission(self, number: Any, params: Any) -> None:
        call, wanted = json.dumps(number), words.permission(params)
        if call in self.exchange.asked:
            return
        if wanted is None:
            self._refuse(number, words.BAD_PARAMETERS, "this request for permission cannot be understood")
            return
        self.exchange.asked[call] = {"title": wanted.title, "options": wanted.options, "approval": ""}
        if self.exchange.turn is None or self.exchange.turn.get("cancelled"):
            self.answer(call, None, "lamplighter")
        elif self.exchange.trusting:
            self.answer(call, True, "lamplighter")
        elif len(self.exchange.asked) > _MOST_ASKED:
            self.answer(call, False, "lamplighter")
        else:
            told = {"title": wanted.title, "tool": wanted.tool, "input": wanted.input, "files": ", ".join(wanted.files)}
            self._keep({"kind": "asks", "title": wanted.title, "tool": wanted.tool})
            self.asks.append(Ask(call, wanted.title, {name: value for name, value in told.items() if value}))

    def _answered(self, called: str, result: Any) -> None:
        exchange = self.exchange
        if called == words.INITIALIZE:
            exchange.abilities = words.abilities(result)
            self._open()
        elif called == words.AUTHENTICATE:
            self._open()
        elif called == words.LIST:
            self._load(words.newest(result))
        elif called in (words.NEW, words.LOAD, words.RESUME):
            self._opened(words.begun(result) or exchange.wanted, result)
        elif called in (words.SET_OPTION, words.SET_MODEL):
            self._ready()
        elif called == words.PROMPT:
            self._stop(*words.stop(result))

    def _failed(self, called: str, error: dict[str, Any]) -> None:
        said = str(error.get("message") or "no reason given")
        detail = error.get("data")
        said = f"{said}: {json.dumps(detail, ensure_ascii=False)}" if detail else said
        said = said[:_LONGEST_ERROR]
        if called == words.PROMPT:
            self._stop("error", {}, said)
        elif called == words.NEW and error.get("code") == words.LOGIN_NEEDED and self._login():
            return
        elif called in (words.SET_OPTION, words.SET_MODEL):
            self._give_up(f"the model {self.exchange.model} is not to be had: {said}{self._offered()}")
        elif called != words.CLOSE:
            self._give_up(f"{called} failed: {said}")

    # -- beginning

    def _open(self) -> None:
        exchange = self.exchange
        exchange.phase = Phase.OPENING
        if exchange.wanted is None:
            self._request(words.NEW, words.new_session(exchange.cwd))
        elif exchange.wanted == "last":
            if exchange.abilities.get("list"):
                self._request(words.LIST, words.list_sessions(exchange.cwd))
            else:
                self._give_up(
                    "the agent cannot list its conversations, so the last one is not known; name one by its id"
                )
        else:
            self._load(exchange.wanted)

    def _load(self, conversation: str | None) -> None:
        """With all that was said in it, where the agent can; else without."""
        exchange = self.exchange
        if conversation is None:
            self._give_up(f"the agent knows no conversation in {exchange.cwd}")
            return
        exchange.wanted = conversation
        if exchange.abilities.get("load"):
            exchange.loaded = True
            self._request(words.LOAD, words.load_session(conversation, exchange.cwd))
        elif exchange.abilities.get("resume"):
            self._request(words.RESUME, words.resume_session(conversation, exchange.cwd))
        else:
            self._give_up("the agent can go on with no conversation of before")

    def _login(self) -> bool:
        """By a key that is in its environment; a person's login is not ours to do."""
        offered = self.exchange.abilities.get("logins", [])
        method = next((name for name in self.exchange.logins if name in offered), None)
        if method is None or self.exchange.phase is Phase.LOGIN or self.exchange.abilities.get("tried"):
            return False
        self.exchange.abilities["tried"] = method
        self.exchange.phase = Phase.LOGIN
        self._request(words.AUTHENTICATE, words.authenticate(method))
        return True

    def _opened(self, conversation: str | None, result: Any) -> None:
        if conversation is None:
            self._give_up("the agent does not say what it calls the conversation")
            return
        self._finish_message()
        self.exchange.conversation = conversation
        self._keep({"kind": "named", "id": conversation})
        if self.exchange.model is None:
            self._ready()
        else:
            self._choose_model(conversation, self.exchange.model, words.models(result))

    def _choose_model(self, conversation: str, model: str, models: words.Models | None) -> None:
        """Before the first prompt, which is not to be answered by another."""
        if models is None:
            self._give_up(
                "the agent lets nobody choose its model over ACP: start it without one, or set it in its own settings"
            )
            return
        self.exchange.abilities["models"] = list(models.known)[:_MOST_MODELS]
        self._request(*words.choose_model(conversation, models, model))

    def _offered(self) -> str:
        return (
            "; it offers " + ", ".join(self.exchange.abilities["models"])
            if self.exchange.abilities.get("models")
            else ""
        )

    def _ready(self) -> None:
        """What was said before is to come before the agent says that it has loaded it. There are agents that say so in the
        middle of it, and the first answer could not be told apart from the last one of before: so it is waited for."""
        self.exchange.phase = Phase.SETTLING if self.exchange.loaded else Phase.READY
        self._next_turn()

    def settle(self) -> None:
        """It has been quiet for long enough."""
        if self.exchange.phase is Phase.SETTLING:
            self.exchange.phase = Phase.READY
        self._next_turn()

    def _give_up(self, why: str) -> None:
        self.exchange.phase, self.exchange.refused = Phase.REFUSED, why
        self.exchange.queue.clear()
        self._keep({"kind": "refused", "why": why})

    # -- turns

    def _next_turn(self) -> None:
        exchange = self.exchange
        if exchange.phase is not Phase.READY or exchange.turn is not None or not exchange.queue:
            return
        assert exchange.conversation is not None
        prompt = exchange.queue.pop(0)
        self._keep({"kind": "user", "text": prompt["text"], "by": prompt["by"]})
        self._finish_message()
        number = self._request(words.PROMPT, words.prompt(exchange.conversation, prompt["text"]))
        exchange.turn = {"call": number, "key": prompt["key"], "at": self.at}
        exchange.stopped = None

    def _stop(self, reason: str, tokens: dict[str, int], said: str | None = None) -> None:
        exchange = self.exchange
        for call in list(exchange.asked):
            self.answer(call, None, "lamplighter")
        self._finish_message()
        exchange.turns += 1
        self._keep({"kind": "stop", "reason": reason, "tokens": tokens, **({"said": said} if said else {})})
        exchange.turn, exchange.stopped = None, f"{reason}: {said}" if said else reason
        self._next_turn()

    # -- saying and keeping

    def _request(self, method: str, params: dict[str, Any]) -> str:
        self.exchange.number += 1
        number = self.exchange.number
        self.exchange.calls[str(number)] = method
        self._say({"id": number, "method": method, "params": params})
        return str(number)

    def _notify(self, method: str, params: dict[str, Any]) -> None:
        self._say({"method": method, "params": params})

    def _refuse(self, number: Any, code: int, why: str) -> None:
        self._say({"id": number, "error": {"code": code, "message": why}})

    def _say(self, message: dict[str, Any]) -> None:
        self.exchange.sent += 1
        self.exchange.outbox.append({"n": self.exchange.sent, "message": {"jsonrpc": "2.0", **message}})

    def _keep(self, entry: dict[str, Any]) -> None:
        """Pieces of one message belong together; whatever is not of it ends it."""
        last = self.exchange.last
        text = entry["kind"] in ("agent", "thought", "user")
        if text and not entry["text"]:
            return
        same = text and last.get("kind") == entry["kind"] and last.get("message") == entry.get("message")
        if not same:
            self._finish_message()
        kept: dict[str, Any] = {"acp": 1, "at": round(self.at, 3), **entry}
        if self.exchange.last.get("open") and not same:
            kept["nl"] = 1
        if text:
            kept["first"] = int(not same)
        self.entries.append(kept)
        shown = render(kept)
        still = {"open": not shown.endswith("\n") if shown else bool(self.exchange.last.get("open"))}
        new = {"kind": entry["kind"], "message": entry.get("message"), "from": None} if text else {}
        begun = self.exchange.last if same else new
        self.exchange.last = {**begun, **still}

    def _finish_message(self) -> None:
        """The message that was being said is whole: it is kept as such, for whoever reads messages."""
        last = self.exchange.last
        if last.get("kind"):
            self.entries.append(
                {"acp": 1, "at": round(self.at, 3), "kind": "whole", "of": last["kind"], "from": last["from"]}
            )
            self.exchange.last = {"open": last.get("open", False)}
