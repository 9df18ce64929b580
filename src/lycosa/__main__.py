"""`python -m lycosa` is the command line."""

import sys

from lycosa.cli import main

if __name__ == "__main__":
    sys.exit(main())
