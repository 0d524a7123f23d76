"""The modules that were loaded before this one: in the process that apps are forked from, those of a start."""

import sys

BY_A_START = frozenset(sys.modules)
