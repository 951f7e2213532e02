"""Sessions that speak the Agent Client Protocol: the shim has their pipes, the daemon is the client.

`step` says what follows from a message, `journal` keeps the conversation, `partner` goes on with one session, `talks` with all.
"""
