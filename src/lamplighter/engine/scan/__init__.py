"""What others left behind on this machine: found in one pass over /proc, and ended."""
