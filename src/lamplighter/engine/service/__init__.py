"""Services around the sessions: cleanup plans, approvals, tokens, logins, the patrol, the archive, the doctor."""
