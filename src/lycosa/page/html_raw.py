"""Where text ends in which there are no tags: scripts, styles, titles and their like. Linear.

For the reader in Python; `_scan.c` has the same rules.
"""

from __future__ import annotations

import re

_WS = r" \t\n\f\r"
_SCRIPT = re.compile(
    rf"<!--|-->|<script(?=[{_WS}/>])|<(/)script(?=[{_WS}/>]|\Z)", re.I | re.A
).search
_RAW = ("script", "style", "textarea", "title", "iframe", "noframes", "noembed", "xmp")
ENDS = {
    name: re.compile(rf"</{name}(?=[{_WS}/>]|\Z)", re.I | re.A).search
    for name in (*_RAW, "noscript")
}


def script_end(page: str, at: int, end: int, budget: int) -> tuple[int, int]:
    """Where a script ends, which may have been hidden from old browsers by a comment; and the steps
    that it took to find out, of a budget."""
    found = ENDS["script"](page, at, end)
    stop = found.start() if found else end
    if page.find("<!--", at, stop) < 0:
        return stop, 0
    escaped = double = False
    steps = 0
    while found := _SCRIPT(page, at, end):
        steps += 1
        if steps > budget:
            return end, steps
        at = found.end()
        token = found[0]
        if token == "<!--":
            escaped = True
            at -= 2  # its own dashes may be those of the end
        elif token == "-->":
            escaped = double = False
        elif found[1]:
            if not double:
                return found.start(), steps
            double = False
        elif escaped:
            double = True
    return end, steps
