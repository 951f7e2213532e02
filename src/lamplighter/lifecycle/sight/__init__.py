"""What each session is doing: one look at /proc, what was seen over time, the verdict, and the rounds that act on it."""
