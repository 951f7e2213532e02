"""What holds a session while everything else may restart: standard library only, and nothing else of ours."""
