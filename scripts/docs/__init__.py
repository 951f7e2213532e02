"""The documentation site: where each page stands in it, what Sphinx is given, and how it is built."""
