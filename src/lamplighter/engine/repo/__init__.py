"""What is read from git repositories and regular files."""
