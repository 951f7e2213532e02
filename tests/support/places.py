"""Folders of this repository."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
"""What real agents have drawn and written, kept as it was."""
