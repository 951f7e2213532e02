"""Sessions that were there before us, in terminals that are not ours."""
