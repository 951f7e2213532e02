"""The holder of wire version 1, frozen."""
