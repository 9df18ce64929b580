from array import array
from collections.abc import Callable

from lycosa.frontier.protocol import Link

Rules = tuple[int, int, frozenset[str], Callable[[bytes], int], Callable[[str], int]]

def join(
    hrefs: list[str],
    origin: str,
    directory: str,
    ident: int,
    domain: str,
    depth: int,
    flags: int,
    links: list[Link],
    sent: array[int],
    rules: Rules,
) -> list[str]: ...
