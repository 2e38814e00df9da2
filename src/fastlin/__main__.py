"""`python -m fastlin` is the command `fastlin`."""

import sys

from fastlin.cli import main

if __name__ == "__main__":
    sys.exit(main())
