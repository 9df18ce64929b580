"""What the attributes of a tag say about its text: hidden, a block, in its line, kept as it is.

Owns the few declarations of a `style` that decide what is seen and where lines break; styles in
sheets are not looked at. `_scan.c` has the same rules. Knows no page.
"""

from __future__ import annotations

import re
from functools import lru_cache

from lycosa.page.html_elements import BLOCK, HIDES

# What a style asks for.
NONE = 1 << 0
BLOCKED = 1 << 1
INLINED = 1 << 2
FLEXED = 1 << 3
AS_ROW = 1 << 4
AS_CELL = 1 << 5
DARKENED = 1 << 6
LIT = 1 << 7
KEPT = 1 << 8
FOLDED = 1 << 9

_STYLES = {  # without spaces
    **{
        f"display:{value}": ("display", style)
        for value, style in {
            "none": NONE,
            "block": BLOCKED,
            "inline": INLINED,
            "inline-block": INLINED,
            "flex": BLOCKED | FLEXED,
            "grid": BLOCKED | FLEXED,
            "-webkit-box": BLOCKED | FLEXED,
            "inline-flex": INLINED | FLEXED,
            "inline-grid": INLINED | FLEXED,
            "flow-root": BLOCKED,
            "list-item": BLOCKED,
            "contents": INLINED,
            "initial": INLINED,
            "table": BLOCKED,
            "inline-table": INLINED,
            "table-row-group": BLOCKED,
            "table-header-group": BLOCKED,
            "table-footer-group": BLOCKED,
            "table-caption": BLOCKED,
            "table-row": BLOCKED | AS_ROW,
            "table-cell": INLINED | AS_CELL,
        }.items()
    },
    "visibility:hidden": ("visibility", DARKENED),
    "visibility:collapse": ("visibility", DARKENED),
    "visibility:visible": ("visibility", LIT),
    "white-space:pre": ("white-space", KEPT),
    "white-space:pre-wrap": ("white-space", KEPT),
    "white-space:pre-line": ("white-space", KEPT),
    "white-space:break-spaces": ("white-space", KEPT),
    "white-space:normal": ("white-space", FOLDED),
    "white-space:nowrap": ("white-space", FOLDED),
    "float:left": ("float", BLOCKED),
    "float:right": ("float", BLOCKED),
    "float:none": ("float", 0),
    "position:absolute": ("position", BLOCKED),
    "position:fixed": ("position", BLOCKED),
    "position:static": ("position", 0),
    "position:relative": ("position", 0),
    "content-visibility:hidden": ("content-visibility", NONE),
    "content-visibility:visible": ("content-visibility", 0),
}
_IMPORTANT = "!important"
_SPACES = re.compile(r"[ \t\n\f\r]+")
# Comments, strings and what is in brackets: a ';' in them ends nothing.
_WHOLE = re.compile(
    r"/\*.*?(?:\*/|\Z)|\"[^\"]*(?:\"|\Z)|'[^']*(?:'|\Z)|\([^)]*(?:\)|\Z)|\{[^}]*(?:\}|\Z)", re.S
)


@lru_cache(maxsize=4_096)
def style_of(text: str) -> int:
    """What a style attribute asks for. Character references in it are not replaced."""
    text = _WHOLE.sub(lambda found: "" if found[0][0] == "/" else '"', text)
    asked: dict[str, tuple[int, bool]] = {}
    for each in _SPACES.sub("", text).split(";"):
        declaration = each.lower() if each.isascii() else ""
        important = declaration.endswith(_IMPORTANT)
        found = _STYLES.get(declaration.removesuffix(_IMPORTANT))
        if found and (important or not asked.get(found[0], (0, False))[1]):
            asked[found[0]] = (found[1], important)
    style = 0
    for value, _ in asked.values():
        style |= value
    return style


def considered(
    name: str, flags: int, attributes: dict[str, str], *, unveil: bool
) -> tuple[int, int]:
    """The flags of an element as its attributes change them, and its style. With `unveil` they
    hide nothing."""
    style = style_of(attributes["style"]) if "style" in attributes else 0
    hidden = "hidden" in attributes or "popover" in attributes
    if unveil:
        hidden = False
        style &= ~(NONE | DARKENED)
    if name == "dialog" and "open" not in attributes:
        hidden = True
    shadow = attributes.get("shadowrootmode", "").lower()
    if name == "template" and shadow in ("open", "closed"):
        flags &= ~HIDES
    if hidden or style & NONE:
        flags = flags & ~BLOCK | HIDES
    elif style & BLOCKED and not flags & HIDES:
        flags |= BLOCK
    elif style & INLINED:
        flags &= ~BLOCK
    return flags, style
