"""The `lamp` command. Translates words into requests and results into text; rules live behind the daemon's socket.

It starts in tens of milliseconds, so nothing here imports models, the store, asyncio, or rich before it draws.
"""
