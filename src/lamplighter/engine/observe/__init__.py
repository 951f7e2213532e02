"""What each session is doing: one look at /proc, what was seen over time, and the verdict."""
