"""Python imports this by its name when the folder is on PYTHONPATH: a daemon then goes by testing/clockwork.py's clock."""

import sys

if "lamplighter.daemon" in sys.orig_argv:
    import lamplighter.app
    from lamplighter.testing.clockwork import MovedClock

    lamplighter.app.RealClock = MovedClock
