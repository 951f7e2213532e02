"""Values and rules, no input or output: what a session is, what may happen to it, and who may do it."""
