"""How a session comes to be: what is asked for, what is executed for it, the written intent, and the birth."""
