"""The stack of open elements: what the tags of a page open and close. No text, no attributes.

Owns the rules of the standard's tree construction as far as they decide which element the text is
in: scopes, tables, lists, paragraphs, formatting elements, drawings and formulas. There is no tree,
so nothing is moved. `_scan.c` has the same rules, function by function.
"""

from __future__ import annotations

from lycosa.page.html_elements import (
    BARRIER,
    BLOCK,
    CELL,
    COUNTED,
    DARK,
    FLAGS,
    FLEX,
    FORMAT,
    FRAMES,
    HIDES,
    HTML,
    IN_ROW,
    IN_SCOPE,
    IN_TABLE,
    MARKER,
    MATH,
    NO_OPENED,
    PART,
    PRE,
    RAW,
    ROOT,
    SCOPE,
    SELECT,
    SPECIAL,
    SVG,
    TABLE_SCOPE,
    VOID,
    Open,
    opened_in,
)
from lycosa.page.html_found import PageFound
from lycosa.page.html_style import (
    AS_CELL,
    AS_ROW,
    DARKENED,
    FLEXED,
    FOLDED,
    INLINED,
    KEPT,
    LIT,
)
from lycosa.page.html_text import CELL as CELL_MARK
from lycosa.page.html_text import END_ROW, LINE, NOTHING, ROW

MAX_REOPENED = 16  # formatting elements that wait to go on
MAX_DEPTH = 500  # open elements; browsers have such a limit too
WALK = 50_000  # steps through the stack that one page may cost; real ones take up to 3,500

_GROUPS = frozenset(("tbody", "tfoot", "thead"))
_CONTEXTS = {  # what a part of a table is put in: whatever is open between is closed
    "td": _GROUPS | {"tr", "table"},
    "th": _GROUPS | {"tr", "table"},
    "tr": _GROUPS | {"table"},
}
HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
ITEMS = frozenset(("li", "dd", "dt"))
TABLES = frozenset(("table",))
BUTTONS = frozenset(("button",))
_P, _LI, _FORM, _TEMPLATES = (frozenset((name,)) for name in ("p", "li", "form", "template"))
_DD = ITEMS - _LI
_LISTS = frozenset(("ol", "ul"))
_BEFORE_ITEMS = frozenset(("address", "div", "p"))  # that a list item is looked for behind
_NONE: frozenset[str] = frozenset()


class Stack(PageFound):
    """The open elements of a page, and what was found in it so far."""

    __slots__ = ("a", "form", "markers", "p", "stack", "templates", "waiting", "walk")

    def __init__(self, max_items: int) -> None:
        super().__init__(max_items)
        self.stack = [ROOT]
        self.walk = WALK
        self.p = self.a = self.templates = self.markers = 0  # how many are open
        # Formatting elements that were closed with a block and go on behind it, each with the
        # number of markers around it.
        self.waiting: list[tuple[int, str]] = []
        self.form = False  # a form is open: another one in it is ignored

    def push(self, name: str, flags: int, mode: int, style: int = 0, attributes: str = "") -> None:
        stack = self.stack
        if len(stack) >= MAX_DEPTH:
            return
        around = stack[-1][8]
        look = around & (PRE | DARK)
        marks = -1, -1
        if flags & HIDES:
            marks = len(self.texts), len(self.items)
        elif around & DARK:
            if not style & LIT:
                flags &= ~BLOCK
        elif around & FLEX:
            flags |= BLOCK
            self.texts.append(LINE)
        if name == "template":
            self.templates += 1
            if not flags & HIDES:
                self.texts.append(" ")  # a shadow stands in its line
        elif name in ("pre", "listing"):
            look |= PRE
        elif name == "tr":
            look |= IN_ROW
            self.texts.append(ROW)
        if style:
            look = self.dressed(look, style)
            if look & DARK:
                flags &= ~BLOCK
            if look & IN_ROW:
                flags |= COUNTED
        inner = opened_in(look, mode)
        stack.append((name, flags, HTML, 0, mode, *marks, inner, look, attributes))
        if flags & MARKER:
            self.markers += 1
        elif name == "p":
            self.p += 1
        elif name == "a":
            self.a += 1

    def dressed(self, look: int, style: int) -> int:
        """The look of an element with a style."""
        if style & KEPT:
            look |= PRE
        if style & FOLDED:
            look &= ~PRE
        if style & FLEXED:
            look |= FLEX
        if style & DARKENED:
            look |= DARK
        elif style & LIT:
            look &= ~DARK
        if style & AS_CELL:
            self.texts.append(CELL_MARK)
        if style & AS_ROW and not look & IN_ROW:
            look |= IN_ROW
            self.texts.append(ROW)
        return look

    def cut(self, depth: int) -> None:
        """Closes the element at a depth and all in it, and forgets what they hide."""
        stack = self.stack
        while len(stack) > depth:
            name, flags, space, _, _, texts, items, _, look, _ = stack.pop()
            if texts >= 0:
                del self.texts[texts:]
                if name == "template" and space == HTML:
                    self.items_left += len(self.items) - items
                    del self.items[items:]
            elif look & IN_ROW or (name == "table" and space == HTML):
                self.texts.append(END_ROW)
            elif flags & BLOCK:
                self.texts.append(LINE)
            if space == HTML and flags & COUNTED:
                self.forget(name, flags)
            if flags & MARKER:
                self.markers -= 1
                while self.waiting and self.waiting[-1][0] > self.markers:
                    self.waiting.pop()
            elif flags & FORMAT and len(stack) > depth and len(self.waiting) < MAX_REOPENED:
                self.waiting.append((self.markers, name))

    def forget(self, name: str, flags: int) -> None:
        if name == "p":
            self.p -= 1
        elif name == "a":
            self.a -= 1
        elif name == "template":
            self.templates -= 1
            if not flags & HIDES:
                self.texts.append(" ")

    def reopen(self) -> None:
        """Formatting elements that were closed with a block around them go on."""
        mode = self.stack[-1][4]
        if mode >= SELECT or self.stack[-1][2] != HTML:
            return
        waiting = self.waiting
        while waiting and waiting[-1][0] == self.markers:
            _, name = waiting.pop()
            self.push(name, FLAGS[name], mode)

    def stop_waiting(self, names: frozenset[str]) -> None:
        for at in range(len(self.waiting) - 1, -1, -1):
            if self.waiting[at][0] == self.markers and self.waiting[at][1] in names:
                del self.waiting[at]
                return

    def find(self, names: frozenset[str], stops: int, also: frozenset[str] = _NONE) -> int:
        """How deep the nearest of some HTML elements is; 0 if something stops the search before."""
        stack = self.stack
        if self.walk <= 0:
            return 0
        stops |= BARRIER
        for depth in range(len(stack) - 1, -1, -1):
            self.walk -= 1
            name, flags, space, *_ = stack[depth]
            if space == HTML and name in names:
                return depth
            if flags & stops or (space == HTML and name in also):
                return 0
        return 0

    def close(self, names: frozenset[str], stops: int, also: frozenset[str] = _NONE) -> None:
        """Closes the nearest of some elements, and all in it."""
        if depth := self.find(names, stops, also):
            self.cut(depth)

    def close_p(self) -> None:
        if self.p:
            self.close(_P, SCOPE, BUTTONS)

    def take_out(self, names: frozenset[str]) -> None:
        """The end of a formatting element: it goes, and only blocks and formatting in it stay.

        That is what WHATWG's "adoption agency" leaves on the stack: up to the eighth block.
        """
        stack = self.stack
        depth = self.find(names, SCOPE)
        if not depth:
            self.stop_waiting(names)
            return
        self.walk -= len(stack) - depth
        blocks = [at for at in range(depth + 1, len(stack)) if stack[at][1] & SPECIAL][:8]
        if len(blocks) < 8:
            self.cut(blocks[-1] + 1 if blocks else depth)
        if blocks:
            self.forget(stack[depth][0], stack[depth][1])
            inner = stack[depth + 1 : blocks[-1] + 1]
            stack[depth : blocks[-1] + 1] = [each for each in inner if each[1] & (SPECIAL | FORMAT)]

    def leave_foreign(self) -> None:
        """Leaves drawings and formulas, up to where HTML may be."""
        while self.stack[-1][2] != HTML and not self.stack[-1][3]:
            self.cut(len(self.stack) - 1)

    # -- start tags ---------------------------------------------------------------------------

    def item(self, name: str) -> None:
        """<li>, <dd>, <dt>: closes the one before it, unless a list is between."""
        names = _LI if name == "li" else _DD
        depth = len(self.stack) - 1
        while depth > 0 and self.walk > 0:
            self.walk -= 1
            each, flags, space, *_ = self.stack[depth]
            if space == HTML and each in names:
                self.cut(depth)
                break
            if flags & SPECIAL and (space != HTML or each not in _BEFORE_ITEMS):
                break
            depth -= 1
        self.close_p()

    def part(self, name: str, flags: int, style: int, attributes: str) -> None:
        """A part of a table, which closes all that is open in the table where it may not be."""
        stack = self.stack
        if stack[-1][4] not in (IN_TABLE, CELL):
            return
        depth = self.find(_CONTEXTS.get(name, TABLES), TABLE_SCOPE)
        if not depth:
            return
        self.cut(depth + 1)
        cell = name in ("td", "th")
        if name in _CONTEXTS and stack[-1][0] == "table":
            self.push("tbody", FLAGS["tbody"], IN_TABLE)
        if cell and stack[-1][0] != "tr":
            self.push("tr", FLAGS["tr"], IN_TABLE)
        if name == "col":
            return
        mode = CELL if cell or name == "caption" else IN_TABLE
        self.push(name, flags, mode, style, attributes)
        if stack[-1][1] & BLOCK:
            self.texts.append(LINE)
        elif cell and not style & (INLINED | AS_CELL):
            self.texts.append(CELL_MARK)

    def begin_foreign(self, name: str, flags: int) -> None:
        """A drawing, which hides its text, or a formula."""
        top = self.stack[-1]
        if len(self.stack) >= MAX_DEPTH:
            return
        space = SVG if name == "svg" else MATH
        self.push_foreign(name, flags & HIDES, space, 0, top)

    def push_foreign(self, name: str, flags: int, space: int, point: int, top: Open) -> None:
        marks = (len(self.texts), len(self.items)) if flags & HIDES else (-1, -1)
        if top[8] & FLEX and not flags & HIDES and not top[8] & DARK:
            flags |= BLOCK
            self.texts.append(LINE)
        look = top[8] & (PRE | DARK)
        self.stack.append((name, flags, space, point, top[4], *marks, NO_OPENED, look, ""))

    def frameset(self, name: str, flags: int, attributes: str) -> None:
        """Frames instead of a body, if there was nothing to read yet."""
        if self.stack[-1][4] != FRAMES:
            if any(text.strip(NOTHING) for text in self.texts):
                return
            self.cut(1)
        self.push(name, flags | HIDES, FRAMES, attributes=attributes)

    # -- end tags -----------------------------------------------------------------------------

    def end(self, name: str, flags: int) -> None:
        """Takes an end tag that is not the current element's own."""
        top = self.stack[-1]
        if top[2] != HTML and self.end_foreign(name):
            return
        mode = self.stack[-1][4]
        if mode >= SELECT and not self.end_within(name, flags, mode):
            return
        if name == "br" or (name == "p" and not self.find(_P, SCOPE, BUTTONS)):
            self.texts.append(LINE)  # it makes an element all the same
        if flags & VOID or flags & RAW:
            return
        if name == "p":
            self.close(_P, SCOPE, BUTTONS)
        elif flags & FORMAT:
            self.take_out(frozenset((name,)))
        elif flags & IN_SCOPE:
            self.close(frozenset((name,)), SCOPE)
        elif flags & PART or name == "table":
            self.close(frozenset((name,)), TABLE_SCOPE)
        elif name == "li":
            self.close(_LI, SCOPE, _LISTS)
        elif name in HEADINGS:
            self.close(HEADINGS, SCOPE)
        elif name == "form":
            self.end_form()
        elif name == "template":
            if self.templates:
                self.close(_TEMPLATES, 0)
        else:
            self.close(frozenset((name,)), SPECIAL)

    def end_foreign(self, name: str) -> bool:
        """An end tag in a drawing or a formula: False if HTML's rules have to judge it."""
        stack = self.stack
        if name in ("br", "p"):
            self.leave_foreign()
            return False
        depth = len(stack) - 1
        while stack[depth][2] != HTML and self.walk > 0:
            self.walk -= 1
            if stack[depth][0] == name:
                self.cut(depth)
                return True
            depth -= 1
        return False

    def end_within(self, name: str, flags: int, mode: int) -> bool:
        """An end tag in a <select> or a <frameset>: whether it counts."""
        if mode == FRAMES:
            return False
        if flags & PART or name == "table":
            if not self.find(frozenset((name,)), TABLE_SCOPE):
                return False
            self.cut(len(self.stack) - 1)
            return True
        return name == "template"

    def end_form(self) -> None:
        """Only the form itself is closed, not what is open in it."""
        if not self.form and not self.templates:
            return
        depth = self.find(_FORM, SCOPE)
        self.form = self.form and bool(self.templates)
        if depth:
            del self.stack[depth]


def html_in(top: Open, name: str) -> bool:
    """Whether a start tag in an element that is not HTML follows HTML's rules all the same."""
    point = top[3]
    if point == 2 or (point == 1 and name not in ("mglyph", "malignmark")):
        return True
    return name == "svg" and top[0] == "annotation-xml" and top[2] == MATH
