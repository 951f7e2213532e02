"""What outlives a session: hand-offs, records, packets, and what can be inferred when nothing was said."""
