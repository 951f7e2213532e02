"""What tests need: processes that are hard to kill, and an independent eye on /proc. The product imports none of it."""
