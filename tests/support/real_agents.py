"""The real agent programs of `make test-agents`: where npm has put each, what its user has accepted, how it is run once.

Each gets a home of its own with what `lamp mcp --print-config` prints in it, and a model on loopback. Its own configuration
says all that its dialogs would ask (trust, theme, keys, permissions), so that none comes. Knows nothing of what is
tested with them. For tests only.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.agent_home import MODULES, NODE, Agent, events, merge, write
from tests.support.further_agents import Aider, Copilot, Pi, Qwen


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
        merge(self.project / ".mcp.json", "mcpServers", name, {"command": command[0], "args": command[1:]})

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
        write(self.home / ".claude" / "settings.json", json.dumps(settings))

    def headless(self, prompt: str, resume: str | None = None) -> list[str]:
        resumed = ["--resume", resume] if resume else []
        return [*self.program(), "-p", prompt, "--output-format", "stream-json", "--verbose", *resumed]

    def terminal(self, resume: str | None = None) -> list[str]:
        return [*self.program(), *(["--resume", resume] if resume else [])]

    def conversation(self, said: str) -> str:
        return next(event["session_id"] for event in events(said) if "session_id" in event)

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
        write(self._place, config)

    def serve(self, name: str, command: list[str]) -> None:
        pasted = self._place.read_text() if self._place.exists() else ""
        words = f"command = {json.dumps(command[0])}\nargs = {json.dumps(command[1:])}"
        write(self._place, f"{pasted}\n[mcp_servers.{name}]\n{words}\n")

    def accept(self) -> None:
        pasted = self._place.read_text() if self._place.exists() else ""
        chosen = (
            'model = "own"\nmodel_provider = "own"\napproval_policy = "never"\nsandbox_mode = "danger-full-access"\n'
            "check_for_update_on_startup = false\n"
        )
        provider = f'name = "own"\nbase_url = "{self.model.url}/v1"\nenv_key = "OWN_KEY"\nwire_api = "responses"\n'
        trusted = f'[projects."{self.project}"]\ntrust_level = "trusted"\n'
        write(self._place, f"{chosen}\n{pasted}\n[model_providers.own]\n{provider}\n{trusted}")

    def headless(self, prompt: str, resume: str | None = None) -> list[str]:
        resumed = ["resume", resume] if resume else []
        return [*self.program(), "exec", *resumed, "--json", "--skip-git-repo-check", *self._approved(), prompt]

    def terminal(self, resume: str | None = None) -> list[str]:
        return [*self.program(), *(["resume", resume] if resume else []), *self._approved()]

    def conversation(self, said: str) -> str:
        return next(event["thread_id"] for event in events(said) if "thread_id" in event)

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
        write(self.home / ".gemini" / "settings.json", config)

    def serve(self, name: str, command: list[str]) -> None:
        added = {"command": command[0], "args": command[1:]}
        merge(self.home / ".gemini" / "settings.json", "mcpServers", name, added)

    def accept(self) -> None:
        write(self.home / ".gemini" / "trustedFolders.json", json.dumps({str(self.project): "TRUST_FOLDER"}))
        chosen = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "privacy": {"usageStatisticsEnabled": False},
        }
        write(self.project / ".gemini" / "settings.json", json.dumps(chosen))

    def headless(self, prompt: str, resume: str | None = None) -> list[str]:
        return [*self.terminal(resume), "-p", prompt, "-o", "stream-json"]

    def terminal(self, resume: str | None = None) -> list[str]:
        return [*self.words(), "-m", str(self.chosen), *(["--resume", resume] if resume else [])]

    def words(self) -> list[str]:
        return [*self.program(), "--yolo"]

    def conversation(self, said: str) -> str:
        return next(event["session_id"] for event in events(said) if "session_id" in event)

    def keys(self) -> dict[str, str]:
        return {"GOOGLE_GEMINI_BASE_URL": self.model.url, "GEMINI_API_KEY": "none"}


class Opencode(Agent):
    name = "opencode"
    prompts = ("Ask anything", "ctrl+p")

    def program(self) -> list[str]:
        found = sorted(MODULES.glob("opencode-linux-*/bin/opencode"))
        return [str(found[0] if found else MODULES / "opencode-linux-x64" / "bin" / "opencode")]

    def configure(self, config: str) -> None:
        write(self._place, config)

    def serve(self, name: str, command: list[str]) -> None:
        merge(self._place, "mcp", name, {"type": "local", "command": command})

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
        write(self._place, json.dumps(chosen | pasted))

    def headless(self, prompt: str, resume: str | None = None) -> list[str]:
        return [*self.program(), "run", "--format", "json", *(["-s", resume] if resume else []), prompt]

    def terminal(self, resume: str | None = None) -> list[str]:
        return [*self.program(), *(["-s", resume] if resume else [])]

    def conversation(self, said: str) -> str:
        return next(event["sessionID"] for event in events(said) if "sessionID" in event)

    def keys(self) -> dict[str, str]:
        return {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}

    @property
    def _place(self) -> Path:
        return self.home / ".config" / "opencode" / "opencode.json"


AGENTS: dict[str, type[Agent]] = {kind.name: kind for kind in (Claude, Codex, Gemini, Opencode)}
"""Those that are tried with all of Lamplighter."""
EVERY: dict[str, type[Agent]] = AGENTS | {kind.name: kind for kind in (Qwen, Copilot, Pi, Aider)}
"""All whose screens are known."""
