"""What libraries do wrong, and that we keep away from it."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "lycosa"

# pycares 5.2 puts each of these strings into memory that is freed before c-ares reads it. None is
# needed: `query` asks name servers only, whatever `lookups` says, and searches no domains.
FREED_TOO_EARLY = {"lookups", "domains", "resolvconf_path"}


def channels() -> list[tuple[str, ast.Call]]:
    return [
        (path.name, node)
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Channel")
    ]


def test_pycares_is_given_no_string_that_it_frees_too_early() -> None:
    found = channels()
    assert found, "nobody opens a channel any more: this test can go"
    for name, call in found:
        given = {word.arg for word in call.keywords}
        assert not given & FREED_TOO_EARLY, f"{name}: {given & FREED_TOO_EARLY}"
        assert None not in given, f"{name}: name the arguments"


def test_names_are_asked_for_by_query_only() -> None:
    """The other calls read the hosts file, which is this machine's business, not a crawl's."""
    users = [path for path in SOURCE.rglob("*.py") if "pycares" in path.read_text("utf-8")]
    assert users
    for path in users:
        called = {
            node.func.attr
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        }
        assert not called & {"gethostbyname", "getaddrinfo", "search"}, path.name
