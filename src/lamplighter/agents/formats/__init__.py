"""What several agent programs share: formats of transcripts, hooks, screens, commands."""
