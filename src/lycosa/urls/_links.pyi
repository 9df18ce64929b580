from array import array
from collections.abc import Callable

from lycosa.frontier.protocol import Link

Place = tuple[int, str]
Rules = tuple[
    int,
    int,
    int,
    frozenset[str],
    Callable[[bytes], int],
    Callable[[str], int],
    Callable[[str], Place | None],
    bytes,
]

def join(
    hrefs: list[str],
    origin: str,
    directory: str,
    place: Place,
    depth: int,
    flags: int,
    links: list[Link],
    sent: array[int],
    rules: Rules,
) -> tuple[list[str], list[tuple[str, int]], int, bytes]: ...
