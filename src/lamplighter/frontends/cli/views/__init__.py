"""Results as blocks, one function a command. Knows the shapes that operations return; knows nothing of where they are drawn."""
