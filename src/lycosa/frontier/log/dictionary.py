"""The dictionaries with which texts are packed, by number.

Owns the list of those that this version knows. A dictionary never changes, and is never trained on
a crawl: what was packed with it must be readable by every later version. Stores keep a copy beside
the chunks, so that a version that lacks one can learn it (`packers.learn`). How number 1 was made:
`bench/url_dictionary/train.py`.
"""

from __future__ import annotations

from importlib.resources import files

NUMBERS = (1,)


def dictionary(number: int) -> bytes:
    """The bytes of a dictionary that this version knows."""
    return files("lycosa.frontier.log").joinpath(f"urls-{number}.dict").read_bytes()
