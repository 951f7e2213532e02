"""Four more real agent programs: Qwen Code, Copilot CLI and pi, which npm has brought, and aider, which pip has.

As those in `real_agents`, each in a home of its own that asks its user nothing. For tests only.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.agent_home import MODULES, NODE, Agent, events, merge, write
from tests.support.model.asked import TOOLLESS


class Qwen(Agent):
    name = "qwen"
    prompts = ("Type your message",)
    keeps_jobs = False

    def program(self) -> list[str]:
        return [str(NODE), str(MODULES / ".bin" / "qwen")]

    def configure(self, config: str) -> None:
        write(self._place, config)

    def serve(self, name: str, command: list[str]) -> None:
        merge(self._place, "mcpServers", name, {"command": command[0], "args": command[1:]})

    def accept(self) -> None:
        pasted: dict[str, Any] = json.loads(self._place.read_text()) if self._place.exists() else {}
        chosen = {
            "security": {"auth": {"selectedType": "openai"}},
            "general": {"enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
            "ui": {"enableFollowupSuggestions": False},
            "memory": {"enableManagedAutoMemory": False, "enableManagedAutoDream": False},
        }
        write(self._place, json.dumps(pasted | chosen))

    def headless(self, prompt: str, resume: str | None = None) -> list[str]:
        return [*self.terminal(resume), "-p", prompt, "-o", "stream-json"]

    def terminal(self, resume: str | None = None) -> list[str]:
        return [*self.words(), *(["--resume", resume] if resume else [])]

    def words(self) -> list[str]:
        return [*self.program(), "--yolo"]

    def conversation(self, said: str) -> str:
        return next(event["session_id"] for event in events(said) if "session_id" in event)

    def keys(self) -> dict[str, str]:
        return {"OPENAI_BASE_URL": f"{self.model.url}/v1", "OPENAI_API_KEY": "none", "OPENAI_MODEL": "own"}

    @property
    def _place(self) -> Path:
        return self.home / ".qwen" / "settings.json"


class Copilot(Agent):
    name = "copilot"
    prompts = ("❯",)

    def program(self) -> list[str]:
        # The binary itself: its launcher would only find it and stay as its parent.
        found = sorted((MODULES / "@github").glob("copilot-linux-*/copilot"))
        return [str(found[0] if found else MODULES / "@github" / "copilot-linux-x64" / "copilot")]

    def configure(self, config: str) -> None:
        write(self._servers, config)

    def serve(self, name: str, command: list[str]) -> None:
        added = {"type": "local", "command": command[0], "args": command[1:], "tools": ["*"]}
        merge(self._servers, "mcpServers", name, added)

    def accept(self) -> None:
        chosen = {"banner": "never", "autoUpdate": False, "trustedFolders": [str(self.project)]}
        write(self.home / ".copilot" / "config.json", json.dumps(chosen))

    def headless(self, prompt: str, resume: str | None = None) -> list[str]:
        return [*self.terminal(resume), "-p", prompt, "--output-format", "json"]

    def terminal(self, resume: str | None = None) -> list[str]:
        return [*self.words(), *([f"--resume={resume}"] if resume else [])]

    def words(self) -> list[str]:
        return [*self.program(), "--allow-all-tools", "--allow-all-paths"]

    def conversation(self, said: str) -> str:
        return next(event["sessionId"] for event in events(said) if "sessionId" in event)

    def keys(self) -> dict[str, str]:
        return {
            "COPILOT_PROVIDER_BASE_URL": f"{self.model.url}/v1",
            "COPILOT_PROVIDER_API_KEY": "none",
            "COPILOT_MODEL": "own",
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
        }

    @property
    def _servers(self) -> Path:
        return self.home / ".copilot" / "mcp-config.json"


class Pi(Agent):
    name = "pi"
    prompts = ("0.0%/",)

    def program(self) -> list[str]:
        return [str(NODE), str(MODULES / ".bin" / "pi")]

    def accept(self) -> None:
        provider = {
            "baseUrl": f"{self.model.url}/v1",
            "api": "openai-completions",
            "apiKey": "none",
            "models": [{"id": "own"}],
        }
        folder = self.home / ".pi" / "agent"
        write(folder / "models.json", json.dumps({"providers": {"own": provider}}))
        write(folder / "settings.json", json.dumps({"defaultProvider": "own", "defaultModel": "own"}))

    def headless(self, prompt: str, resume: str | None = None) -> list[str]:
        return [*self.terminal(resume), "--mode", "json", "-p", prompt]

    def terminal(self, resume: str | None = None) -> list[str]:
        return [*self.program(), *(["--session", resume] if resume else [])]

    def keys(self) -> dict[str, str]:
        return {"PI_OFFLINE": "1"}


class Aider(Agent):
    """Without tools: it runs what a model proposes once its user has said yes."""

    name = "aider"
    prompts = ("> ",)

    def program(self) -> list[str]:
        return [str(MODULES.parents[1] / "python" / "venv" / "bin" / "aider")]

    def accept(self) -> None:
        chosen = {
            "model": f"openai/{TOOLLESS}",
            "weak-model": "openai/own",
            "openai-api-base": f"{self.model.url}/v1",
            "openai-api-key": "none",
            "check-update": False,
            "show-model-warnings": False,
            "show-release-notes": False,
            "analytics-disable": True,
            "gitignore": False,
            "git": False,
        }
        write(self.home / ".aider.conf.yml", json.dumps(chosen))
        # Its reminders and examples in the system's words: what its user has said is said alone.
        settings = {"name": f"openai/{TOOLLESS}", "edit_format": "diff", "reminder": "sys", "examples_as_sys_msg": True}
        write(self.home / ".aider.model.settings.yml", json.dumps([settings]))

    def headless(self, prompt: str, resume: str | None = None) -> list[str]:
        return [*self.terminal(resume), "--yes-always", "--message", prompt]

    def terminal(self, resume: str | None = None) -> list[str]:
        return [*self.program(), *(["--restore-chat-history"] if resume else [])]

    def keys(self) -> dict[str, str]:
        return {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}  # what it costs is not asked of the network
