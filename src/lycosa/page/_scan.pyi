from typing import Any

def scan(
    page: bytes, names: dict[str, str], max_items: int, max_text: int
) -> tuple[str, list[Any], int, bytes, str, tuple[int, ...]]: ...
def features(
    page: bytes, names: dict[str, str], sums: bytes
) -> tuple[str, bytes, tuple[int, ...]]: ...
