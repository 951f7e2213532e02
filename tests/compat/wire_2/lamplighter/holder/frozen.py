"""Marks this copy: its fingerprint is another than that of the code it was taken from."""
