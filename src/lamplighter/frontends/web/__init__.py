"""The page: its files, its login, its calls, and what it hears live. Loaded with the first connection over HTTP."""
