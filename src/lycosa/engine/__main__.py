"""`python -m lycosa.engine`: one engine, started by a supervisor, which writes its settings to it."""

import sys

from lycosa.engine.loop import main
from lycosa.terminal import guarded

if __name__ == "__main__":
    with guarded():
        sys.exit(main())
