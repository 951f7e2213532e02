"""Toolsets that are compatible with other servers, each whole in its own folder."""
