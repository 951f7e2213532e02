"""What a log shows when it is played: screens, keyframes, recordings. Knows a log folder, nothing of sessions."""
