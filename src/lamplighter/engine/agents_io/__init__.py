"""Agents' own conversations: what is sent to them, which conversation a session is in, transcripts, replies, tokens."""
