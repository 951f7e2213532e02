"""What happens to sessions: launched, held, watched, spoken to, ended, found again after a crash."""
