"""What lycosa knows of the elements of HTML: which hide text, break lines, close others.

Owns one number per element, whose bits are the rules of the standard's tree construction as far as
they decide what is seen. `html_stack` and `html_scan` work by it; `_scan.c` has the same list.
"""

from __future__ import annotations

from typing import Any

# What an element is.
BLOCK = 1 << 0  # breaks a line
HIDES = 1 << 1  # its text is not seen; nor does it break a line
RAW = 1 << 2  # the same, and what looks like a tag in it is none
VOID = 1 << 3  # never open
ANCHOR = 1 << 4
NOTED = 1 << 5  # says something by its attributes
SPECIAL = 1 << 6  # end tags of elements around it do not reach through it
SCOPE = 1 << 7  # nor do those of blocks
CLOSES_P = 1 << 8  # its start tag ends a paragraph
FORMAT = 1 << 9  # a formatting element, which end tags take out of the middle
BREAKOUT = 1 << 10  # its start tag ends a drawing or a formula
IN_SCOPE = 1 << 11  # its end tag reaches through everything but SCOPE
PART = 1 << 12  # of a table
ODD = 1 << 13  # its start tag has rules of its own
TABLE_SCOPE = 1 << 14  # end tags of a table's parts do not reach through it
BARRIER = 1 << 15  # no end tag does
PLAIN = 1 << 16  # its start tag opens it and does no more, but perhaps ends a paragraph
COUNTED = 1 << 17  # closing it takes a closer look
REOPENS = 1 << 18  # formatting elements that were closed with a block go on before it
MARKER = 1 << 19  # they do not go on in it

# How the text in an element looks: the first two go over to the elements in it.
PRE = 1 << 0  # its lines and spaces are kept
DARK = 1 << 1  # it is not seen, but elements in it may be
FLEX = 1 << 2  # each element in it stands alone
IN_ROW = 1 << 3  # of a table

HTML, SVG, MATH = range(3)
OUT, IN_TABLE, CELL, SELECT, FRAMES = range(5)  # which insertion mode, roughly


def _flags() -> dict[str, int]:
    """Flags of every element that is known."""
    flags: dict[str, int] = {}

    def mark(names: str, bits: int) -> None:
        for name in names.split():
            flags[name] = flags.get(name, 0) | bits

    mark(
        "address article aside blockquote br caption center dd details dialog dir div dl dt"
        " fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 header hgroup hr"
        " legend li listing main menu nav ol optgroup option p plaintext pre search section"
        " summary table tbody tfoot thead tr ul xmp",
        BLOCK,
    )
    mark("abbr bdi bdo cite del dfn ins kbd label mark q samp span sub sup var", 0)
    mark("svg select object audio video canvas datalist template meter progress rp", HIDES)
    mark(
        "script style textarea title iframe noframes noembed xmp noscript plaintext",
        RAW | ODD,
    )
    mark("a", ANCHOR | ODD)
    mark("area frame link meta base html iframe time", NOTED)
    mark(
        "area base basefont bgsound br col embed frame hr img image input keygen link meta param"
        " source track wbr html head body",
        VOID,
    )
    mark(
        "address applet area article aside base basefont bgsound blockquote body br button caption"
        " center col colgroup dd details dir div dl dt embed fieldset figcaption figure footer form"
        " frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html iframe img input keygen li"
        " link listing main marquee menu meta nav noembed noframes noscript object ol p param"
        " plaintext pre script search section select source style summary table tbody td template"
        " textarea tfoot th thead title tr track ul wbr xmp",
        SPECIAL,
    )
    mark("table template", TABLE_SCOPE)
    mark("applet caption html table td th marquee object select template", SCOPE)
    mark(
        "address article aside blockquote center details dialog dir div dl fieldset figcaption"
        " figure footer header hgroup main menu nav ol p search section summary ul pre listing"
        " form h1 h2 h3 h4 h5 h6 li dd dt plaintext xmp table hr",
        CLOSES_P,
    )
    mark("a b big code em font i nobr s small strike strong tt u", FORMAT)
    mark(
        "b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i"
        " img li listing menu meta nobr ol p pre ruby s small span strong strike sub sup table tt"
        " u ul var",
        BREAKOUT,
    )
    mark(
        "address article aside blockquote button center details dialog dir div dl fieldset"
        " figcaption figure footer header hgroup listing main menu nav ol pre search section"
        " summary ul applet marquee object dd dt",
        IN_SCOPE,
    )
    mark("caption col colgroup tbody tfoot thead tr td th", PART | ODD)
    mark("h1 h2 h3 h4 h5 h6", ODD)
    mark(
        "li dd dt button nobr form svg math select table frameset frame option optgroup rb rt rtc"
        " rp input textarea dialog",
        ODD,
    )
    return flags


FLAGS = _flags()
_WATCHED = ("p", "a", "form", "frameset", "tr", "table", "pre", "listing")
_STAYS = ("rb", "rt", "rtc", "rp", "template", "frameset")
for _name in ("applet", "caption", "marquee", "object", "td", "template", "th"):
    FLAGS[_name] |= MARKER
for _name, _bits in FLAGS.items():
    if not _bits & (ODD | NOTED | VOID | HIDES):
        FLAGS[_name] |= PLAIN
    if _bits & (HIDES | MARKER) or _name in _WATCHED:
        FLAGS[_name] |= COUNTED
    if not _bits & (CLOSES_P | RAW | PART | VOID) and _name not in _STAYS:
        FLAGS[_name] |= REOPENS

UNKNOWN = REOPENS

# An open element: name, flags, name space, what HTML may begin in it (0 nothing, 1 but for two
# elements of formulas, 2 everything), mode, how much text and how many items there were before it
# if it hides them, or -1, elements that take no thought in it, its look, and its attributes as they
# were written.
Open = tuple[str, int, int, int, int, int, int, dict[str, Any], int, str]
PlainElement = tuple[str, int, int, int, int, int, int, dict[str, Any], int]
NO_OPENED: dict[str, PlainElement] = {}
# Elements that take no thought, but for their attributes, by look (none or PRE), mode and name.
_OPENED: tuple[tuple[dict[str, PlainElement], ...], ...] = tuple(
    tuple({} for _ in (OUT, IN_TABLE, CELL)) for _ in (0, PRE)
)
for _look, _modes in enumerate(_OPENED):
    for _mode, _opened in enumerate(_modes):
        for _name, _bits in FLAGS.items():
            if _bits & PLAIN:
                _inner = PRE if _name in ("pre", "listing") else _look
                _within = _OPENED[_inner][_mode]
                _opened[_name] = (_name, _bits, HTML, 0, _mode, -1, -1, _within, _inner)


def opened_in(look: int, mode: int) -> dict[str, PlainElement]:
    """What takes no thought in an element of HTML with this look and mode."""
    return NO_OPENED if look & (DARK | FLEX) or mode >= SELECT else _OPENED[look & PRE][mode]


ROOT: Open = (
    *("", SPECIAL | SCOPE | TABLE_SCOPE | BARRIER, HTML, 0, OUT, -1, -1),
    *(opened_in(0, OUT), 0, ""),
)
