"""What the script `lamp` calls: a hook at once, everything else by way of `main`, which knows the commands."""

from __future__ import annotations

import os
import sys


def main() -> int:
    words = sys.argv[1:]
    if words[:1] == ["hook"] and "--help" not in words:
        from lamplighter.frontends.cli import hook_client

        # Nothing is buffered, and taking Python down in order takes a fifth of all the time.
        os._exit(hook_client.main(words[1:]))
    from lamplighter.frontends.cli.main import main as command

    return command()


if __name__ == "__main__":
    sys.exit(main())
