"""A session at the person's own terminal or standard streams: attached to, run in the foreground, replayed."""
