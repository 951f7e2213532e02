"""What sessions print: output and screens."""
