"""Rules about text: redaction, search text, quoting, what is kept of output."""
