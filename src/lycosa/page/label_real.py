"""Of pages worth having: whether one speaks itself, or leads to others. Pure.

Owns the border between content and listing, by counts of the whole page (`signs`), the main text
and the places of links. `labels` asks once nothing else is told.
"""

from __future__ import annotations

from lycosa.page import label_rules as rules
from lycosa.page.label_markup import own_links
from lycosa.page.signs import Signs

MAIN_CHARS = 1_500  # of the main text that are looked at
LINKS_OVER_PROSE = 5  # percent of all letters: from here on a page is a listing
FEW_LINKS = 5  # with less it leads nowhere
SMALL = 1_500  # letters of a page of which menus may be much
OF_MENUS = 20  # percent of its letters, if there is hardly anything else
OF_SENTENCES = 15  # percent that a main text of sentences outweighs
SENTENCE_ENDS = frozenset(".!?…。！？।؟")


def content_or_listing(signs: Signs, main: str, markup: bytes) -> tuple[str, str]:
    """The label of a page worth having, and its reason."""
    if not signs.size:
        return rules.CONTENT, "text"
    links = 100 * signs.link_size // signs.size
    prose = 100 * signs.sentences // signs.size
    over = links - prose - LINKS_OVER_PROSE
    if signs.anchors >= FEW_LINKS and over >= 0 and over >= _menus(signs, main, markup):
        return rules.LISTING, f"{links} % links, {prose} % prose"
    return rules.CONTENT, f"{prose} % prose, {links} % links"


def _menus(signs: Signs, main: str, markup: bytes) -> int:
    """How many links may be those of menus around a text, in percent.

    The less there is on a page the more of it is menus, and sentences are its own text."""
    small = OF_MENUS * max(0, SMALL - signs.size) // SMALL
    if small and markup and own_links(markup) < FEW_LINKS:
        return 100
    main = main[:MAIN_CHARS]
    ended = sum(len(line) for line in main.split("\n") if _is_sentence(line))
    return small + (OF_SENTENCES * ended // len(main) if ended else 0)


def _is_sentence(line: str) -> bool:
    return line[-1:] in SENTENCE_ENDS and (len(line) >= 30 or (len(line) >= 12 and line[-1] > "~"))
