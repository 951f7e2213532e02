"""Python imports this by its name when the folder is on PYTHONPATH: a daemon then goes by tests/support/clockwork.py's clock."""

import sys

if "lamplighter.daemon" in sys.orig_argv:
    from moved_clock import MovedClock

    import lamplighter.app

    lamplighter.app.RealClock = MovedClock
