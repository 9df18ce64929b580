"""How a message names this Python: by its bare name where a shell finds it by that."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

_name = Path(sys.executable).name
PYTHON = _name if shutil.which(_name) == sys.executable else sys.executable
