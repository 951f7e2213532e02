"""How a session starts: the request, its checks, the planned command, the written intent, and the birth."""
