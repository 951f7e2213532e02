"""Sessions without a process: logical ones, external agents, and how they are resumed."""
