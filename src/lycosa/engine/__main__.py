"""`python -m lycosa.engine`: one engine, for a supervisor, which tells it its settings."""

import sys

from lycosa.engine.loop import main
from lycosa.terminal import guarded

if __name__ == "__main__":
    with guarded():
        sys.exit(main())
