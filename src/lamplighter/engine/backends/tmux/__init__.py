"""Sessions in tmux: panes that are made for ours, and what tmux has of others."""
