"""Results as blocks, one function a command. Knows the shapes that operations return, not where they are drawn."""
