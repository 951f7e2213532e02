"""Names in the sources: one class a name, modules that are called by what they are, and no agent's name but in its file."""

from __future__ import annotations

import ast
from collections import defaultdict

from lamplighter.agents import agent_named, agent_names, every_agent
from tests.support.places import ROOT

SOURCE = ROOT / "src" / "lamplighter"
MODULES = list(SOURCE.rglob("*.py"))
OF_THEIR_OWN = {"compat", "views"}
"""Folders whose names stand for themselves: another server's words, and documents that are called as what they show."""
GERUNDS = {"ending", "quoting"}
"""Words of the glossary."""


def test_no_public_class_is_defined_twice() -> None:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for path in MODULES:
        if not OF_THEIR_OWN & set(path.relative_to(SOURCE).parts):
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found[node.name].append(str(path.relative_to(SOURCE)))
    assert {name: places for name, places in found.items() if len(places) > 1} == {}


def test_no_module_is_called_by_a_gerund() -> None:
    assert {path.stem for path in MODULES if path.stem.endswith("ing")} <= GERUNDS


def test_no_agent_is_named_outside_its_file() -> None:
    """What differs from agent to agent is in `agents/`, so that a new one needs no other change."""
    names = {agent.name for agent in every_agent() if agent.program}
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno} {node.value}"
        for path in MODULES
        if path.relative_to(SOURCE).parts[0] not in ("agents", "compat")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in names
    ]
    assert found == []


def test_an_agent_and_its_parts_are_called_as_its_file_is() -> None:
    for name in agent_names():
        agent = agent_named(name)
        known = (agent.start, agent.transcripts, agent.hooks, agent.fingerprints, agent.shared_daemon)
        named = {agent.name, *(part.agent for part in known if part), *([agent.program.name] if agent.program else [])}
        assert named == {name}
