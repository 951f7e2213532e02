"""Where a keeper's process begins. Run by its path, isolated and without `site`: shims share the keeper's memory, so it
imports nothing that it does not need."""

import sys
from os.path import abspath, dirname

sys.path.insert(0, dirname(dirname(dirname(abspath(__file__)))))

from lamplighter.holder.keeper import main

main()
