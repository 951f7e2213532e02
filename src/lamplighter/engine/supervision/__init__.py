"""What goes on around running sessions: exits, terminal queries, marked processes, a rebuilt store."""
