"""`python -m lycosa.simweb`: see `command`."""

import sys

from lycosa.simweb.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
