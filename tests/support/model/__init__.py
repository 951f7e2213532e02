"""A model of a test's own on loopback: it follows a script of turns, told by the test, in the APIs that real agents speak."""

from __future__ import annotations

from tests.support.model.mind import Model
from tests.support.model.steps import Call, Fail, Gate, Hang, Run, Say, Step, Stream, echo

__all__ = ["Call", "Fail", "Gate", "Hang", "Model", "Run", "Say", "Step", "Stream", "echo"]
