"""After a loss of the store: what lives is found again and written down, and copies are kept for the next time."""
