"""`lycosa version`."""

from lycosa import __version__
from lycosa.settings.collect import Values


def version(_: Values, __: list[str]) -> int:
    """Print the version."""
    print(f"lycosa {__version__}")
    return 0
