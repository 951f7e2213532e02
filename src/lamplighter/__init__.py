"""Lamplighter starts, watches, talks to and ends AI-agent sessions, and proves that nothing of them is left."""

__version__ = "0.1.0"
