"""Talking to sessions: what is typed and submitted, what is read and waited for, and being asked to leave."""
