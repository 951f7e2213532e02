"""What every layer of the engine stands on: the registry of sessions, clients of the holders, tasks, deadlines."""
