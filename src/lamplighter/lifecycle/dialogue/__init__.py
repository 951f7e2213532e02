"""Agents' own conversations: which one a session is in, what its transcript says, replies, tokens, hooks."""
