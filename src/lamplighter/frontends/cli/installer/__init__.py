"""What `lamp install` writes into agents' configurations, the shell and systemd, and how all of it is taken away."""
