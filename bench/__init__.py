"""Lamplighter measured side by side with tmux and a bare PTY loop, in one run: `python -m bench`."""
