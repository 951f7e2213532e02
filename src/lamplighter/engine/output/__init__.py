"""What sessions print: output, screens, and the text of headless agents."""
