"""How a session's end reads to whoever comes after it. Knows endings; knows nothing of what was handed over."""

from __future__ import annotations

from lamplighter.domain.ending import How
from lamplighter.domain.ingredients import Close
from lamplighter.domain.session import Session
