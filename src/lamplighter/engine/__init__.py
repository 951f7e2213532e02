"""What happens to sessions: they are started, watched, spoken to, ended, and found again after a crash.

Inner layers, each importing only those below it: service, scan, adopt, supervision, logical, start, end, memory, agents_io,
observe, output, backends, repo, core. `pyproject.toml` has them as a contract.
"""
