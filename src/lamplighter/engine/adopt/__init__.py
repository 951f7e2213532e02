"""Sessions that were there before us: adopted, registered, and known by their processes alone."""
