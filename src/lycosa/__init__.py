"""lycosa: a broad, polite and fast web crawler."""

__version__ = "0.1.0"
