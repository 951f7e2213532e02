"""Values of what is remembered: records, hand-offs, packets, succession."""
