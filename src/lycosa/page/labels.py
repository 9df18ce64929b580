"""What kind of page a response is: worth having, or a wall, an error, nothing at all. Pure.

Owns the decision; the rules are tables (`label_rules`, `label_phrases.txt`). An ordinary page is
decided by its sizes and its title. Only one on which there is room for a message and little else,
or with a telling title, is searched for phrases (`label_search`), in bounded prefixes. Knows no
network; what it is told of a response is in `LabelFacts`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from lycosa.page import label_rules as rules
from lycosa.page.label_markup import bare, first_links, hidden, in_link, own_links
from lycosa.page.label_real import content_or_listing
from lycosa.page.label_rules import ROOMS
from lycosa.page.label_search import (
    HINTS,
    SAYS,
    TITLE_CHARS,
    WORDS,
    Hit,
    begins_with_error,
    broken,
    few_hits,
    hits,
    is_about,
    phrases,
    plain,
    singles,
    title_parts,
    titled,
    words_of,
)
from lycosa.page.signs import Signs

if TYPE_CHECKING:
    from lycosa.page.html import Parsed

TEXT_CHARS = 4_000  # of all text that are searched
MAIN_CHARS = 1_500  # of the main text
URL_CHARS = 300
BEGIN = 200  # characters: of a page that begins with an error the rest may be long
NEAR = 1_500  # characters of all text in which a short line may say that something is not there
TOP_LINES = 4  # of the main text: a heading among them counts like a title
TINY = 180  # letters, outside of links: on a page with no more a single hint is enough
FEW = 19  # anchors on such a page
BESIDE_HEAD = 60  # letters of prose below a heading of its own, which is one of an article
FEW_WORDS = 260  # bytes of a main text that may be nothing but a message
BESIDE_FEW = 450  # letters around it that are no links
# What such a message may tell.
FEW_TELL = (rules.SOFT_404, rules.ERROR_PAGE, rules.BLOCKED, rules.LOGIN_WALL)
LONG_LINE = 80  # from here on a line is prose
# How many times as long a line may be in a list of links for a phrase to be what it says.
OF_ITEM = {SAYS: 2.2, HINTS: 1.5}
BESIDE_BAR = 200  # letters that may stand beside what may be a bar about cookies only
MESSAGE = 300  # letters of the lines that tell a label
MESSAGE_OF_CONSENT = 1_000  # which is told in more words
TOP = frozenset((rules.SOFT_404, rules.ERROR_PAGE, rules.BLOCKED, rules.PARKED))


def _no_header(_name: bytes) -> str:
    return ""


@dataclass(slots=True)
class LabelFacts:
    """What a label is decided by."""

    url: str = ""
    status: int = 200
    header: Callable[[bytes], str] = _no_header  # the first of a (lower-case) name, or ''
    content_type: str = ""
    title: str = ""
    text: str = ""
    main: str = ""
    signs: Signs = field(default_factory=Signs)
    links: int = 0
    truncated: str = ""
    markup: bytes = b""  # the beginning of the body, unpacked

    @classmethod
    def of(
        cls,
        page: Parsed,
        url: str,
        status: int,
        header: Callable[[bytes], str],
        content_type: str,
        truncated: str,
        markup: bytes,
    ) -> Self:
        """Of a page that was parsed, and what is known of its response."""
        told = page.title, page.text, page.main, page.signs, len(page.links)
        return cls(url, status, header, content_type, *told, truncated, markup)


def label(facts: LabelFacts) -> tuple[str, str]:
    """The label and its reason, in a few words."""
    signs = facts.signs
    if facts.status < 400 and (
        signs.sentences >= rules.PLENTY or signs.size - signs.link_size >= rules.PLENTY_OF_ALL
    ):
        if not _speaks(facts) and not broken(facts.text[:BEGIN]):
            return _real(facts)
        page = _Page(facts, _sizes(facts))
        return page.best() or page.bare() or _real(facts)
    size = _sizes(facts)
    found = _by_header(facts)
    if facts.status >= 400:
        return found or _by_status(facts, size)
    if found is None and _may_tell(facts, size):
        page = _Page(facts, size)
        found = page.best() or page.bare() or page.few_words()
    return found or _real(facts)


def _real(facts: LabelFacts) -> tuple[str, str]:
    return content_or_listing(facts.signs, facts.main, facts.markup)


def _speaks(facts: LabelFacts) -> bool:
    """Whether a part of the title tells a label."""
    return bool(facts.title and titled(plain(facts.title[:TITLE_CHARS]))[1])


def _may_tell(facts: LabelFacts, size: _Sizes) -> bool:
    """Whether a page may be anything else than real, so that it is worth searching.

    It has room for what would have to be there, or its title or its beginning speaks."""
    if size.size != facts.signs.size:  # no HTML, and no menus: all of it speaks
        return size.rest < rules.PLENTY_OF_ALL or broken(facts.text[:BEGIN])
    return _has_room(facts, size) or _speaks(facts) or begins_with_error(plain(facts.text[:BEGIN]))


def _has_room(facts: LabelFacts, size: _Sizes) -> bool:
    """Whether a page is small enough for any label without a title that tells it."""
    anchors, prose, rest = facts.signs.anchors, size.prose - MESSAGE, size.rest - MESSAGE
    if anchors > rules.MOST_ANCHORS:
        return False
    for room in ROOMS.values():
        if anchors <= room.anchors and prose <= room.prose and rest <= room.prose + room.rest:
            return True
    text = facts.text[:TEXT_CHARS]
    if "{{" in text:
        return True
    rest -= MESSAGE_OF_CONSENT
    room = ROOMS[rules.CONSENT_WALL]
    if anchors <= room.anchors and rest <= room.prose + room.rest:
        return True
    return rest <= rules.MOST_REST and any(word in text for word in rules.OF_COOKIES)


def _tells_title(hit: Hit, title: str) -> bool:
    """Whether a phrase is most of the title."""
    return hit.at <= len(title) and 2 * len(hit.words) >= len(title) and hit.strength != WORDS


def _by_header(facts: LabelFacts) -> tuple[str, str] | None:
    for name, part, told in rules.HEADERS:
        value = facts.header(name)
        if value and part in value.lower():
            return told, f"header {name.decode()}"
    return None


def _by_status(facts: LabelFacts, size: _Sizes) -> tuple[str, str]:
    """The page of an error: what it says may tell who refuses, and why."""
    status = facts.status
    if status in rules.STATUS_IS:
        return rules.STATUS_IS[status], f"status {status}"
    usual = rules.STATUS_SUGGESTS.get(status, rules.ERROR_PAGE)
    page = _Page(facts, size)
    best = page.best(rules.INSTEAD[usual])
    if best is not None:
        return best
    if usual != rules.ERROR_PAGE:
        return usual, f"status {status}"
    if page.of(rules.SCRIPT_SHELL).says:
        return rules.BLOCKED, f"status {status}, and asks for scripts"
    return hidden(facts.markup, facts.signs, size.seen) or (usual, f"status {status}")


# -- what a page says -----------------------------------------------------------------------------


@dataclass(slots=True)
class _Told:
    """What speaks for one label."""

    title: int = 0
    says: int = 0
    hints: int = 0
    words: int = 0
    tops: int = 0  # of the hints: short lines at the top of the main text
    sign: int = 0
    first: bool = False  # it begins with what it says
    reason: str = ""

    def strong(self) -> int:
        return 2 * min(self.title, 1) + min(2 * self.says + self.tops, 3)

    def points(self) -> int:
        words = (self.words + 1) // 2 if self.words > 1 else 0
        return self.strong() + self.sign + min(self.hints + words, 2)


@dataclass(slots=True)
class _Sizes:
    """How much there is to read, in letters."""

    size: int
    prose: int
    rest: int  # that is no link
    seen: int  # of it beside <noscript>


def _sizes(facts: LabelFacts) -> _Sizes:
    signs = facts.signs
    if not signs.size and facts.text:  # no HTML
        size = len(facts.text)
        return _Sizes(size, size, size, size)
    rest = max(0, signs.size - signs.link_size)
    return _Sizes(signs.size, signs.sentences, rest, max(0, rest - signs.noscript_chars))


class _Page:
    """A page that is searched."""

    def __init__(self, facts: LabelFacts, size: _Sizes) -> None:
        self.facts, self.size = facts, size
        self.told: dict[str, _Told] = {}
        self.lines: dict[tuple[int, int], str] = {}  # that say something, with a label
        self.text = plain(facts.text[:TEXT_CHARS])
        self.main = plain(facts.main[:MAIN_CHARS])
        self.title = plain(facts.title[:TITLE_CHARS])
        self.tops = (self.main or self.text).split("\n", TOP_LINES)[:TOP_LINES]
        self.head = next(filter(self.own_head, self.tops[:2]), "")
        self.listed: bool | None = None
        self.markup = b""  # where links are, of a page that is listed
        self.short: set[tuple[str, int]] = set()  # lines that were counted among the tops
        self.search()
        self.heads()
        self.signs()
        self.prose, self.rest = self.others()
        self.about = self.is_about()

    def is_about(self) -> bool:
        """Whether the page is about such pages: by its title, or because it says so much."""
        if self.size.prose >= LONG_LINE and is_about(self.title):
            return True
        says = [
            told for told, mine in self.told.items() if mine.says and told != rules.SCRIPT_SHELL
        ]
        return len(says) >= 3 and self.facts.signs.anchors >= 5

    def own_head(self, line: str) -> bool:
        """Whether a line is a heading of its own: it is in the title, and mostly tells nothing."""
        if line not in self.title or not (line.count(" ") >= 2 or len(line.encode()) >= 24):
            return False
        return 5 * len(titled(line)[0]) < 2 * len(line)

    def of_links(self) -> bool:
        """Whether the page is mostly links, in a list of some length."""
        if self.listed is None:
            much = self.facts.signs.link_size > 2 * self.size.rest
            self.listed = much and own_links(self.facts.markup) >= 6
            self.markup = first_links(self.facts.markup) if self.listed else b""
        return self.listed

    def of(self, told: str) -> _Told:
        """What speaks for a label."""
        mine = self.told.get(told)
        if mine is None:
            mine = self.told[told] = _Told()
        return mine

    def search(self) -> None:
        """Every phrase of the table that is on the page."""
        whole = f"{self.title}\n{self.text}"
        if len(self.facts.text) > TEXT_CHARS:
            whole += "\n" + self.main
        flat = whole.replace("\n", " ")  # a heading may be broken in two
        there = set(words_of(flat))
        for hit in hits(flat, len(self.title) + 1, there):
            self.note(whole, hit)
        for word, told in singles(there):
            mine = self.of(told)
            mine.words += 1
            mine.reason = mine.reason or word

    def note(self, whole: str, hit: Hit) -> None:
        """Counts a phrase."""
        first = len(self.title) + 1
        mine, words, begin = self.of(hit.told), hit.words, hit.begin
        if _tells_title(hit, self.title):
            mine.title += 1
            mine.reason = mine.reason or f"title: {words}"
        if begin < 0:
            return
        line = whole.rfind("\n", 0, begin) + 1
        end = whole.find("\n", begin)
        end = end if end >= 0 else len(whole)
        if hit.strength == WORDS or self.mentions(hit, whole[line:end], begin - line):
            mine.words += 1
            mine.reason = mine.reason or words
            return
        if hit.strength == SAYS:
            mine.says += 1
            mine.first |= begin < first + BEGIN
            mine.reason = words if not mine.reason.startswith("title") else mine.reason
        else:
            mine.hints += 1
            mine.reason = mine.reason or words
        if self.head:  # of an article about such pages a sentence speaks of them
            at = max(whole.rfind(". ", line, begin), whole.rfind("。", line, begin))
            stop = whole.find(". ", begin, end)
            self.lines[at if at >= 0 else line, stop if stop >= 0 else end] = hit.told
        else:
            self.lines[line, end] = hit.told
        if hit.strength == HINTS and hit.told in TOP and end - line <= 100:
            near = hit.told == rules.SOFT_404 and begin < first + NEAR
            if (near or whole[line:end] in self.tops) and (hit.told, line) not in self.short:
                self.short.add((hit.told, line))
                mine.tops += 1

    def mentions(self, hit: Hit, line: str, at: int) -> bool:
        """Whether a line only mentions what the phrase says: in a list, or in an article."""
        if self.of_links():
            linked = in_link(self.markup, line)
            if linked is None:
                linked = len(line) > OF_ITEM[hit.strength] * len(hit.words)
            if linked:
                return True
        article = self.head and hit.told != rules.LOGIN_WALL and len(line) >= LONG_LINE
        return bool(article) and at > 30

    def heads(self) -> None:
        """The title and the first lines of the main text, part by part."""
        part, told = titled(self.title)
        if told and part not in self.head:
            mine = self.of(told)
            mine.title += 1
            mine.reason = f"title: {part}"
        titles = phrases().titles
        for line in self.tops:
            if told := titles.get(line.strip(" .!?…:"), ""):
                mine = self.of(told)
                mine.hints += 1
                mine.reason = mine.reason or line

    def signs(self) -> None:
        """What the markup tells beside the text."""
        signs = self.facts.signs
        if signs.passwords and signs.size:
            mine = self.of(rules.LOGIN_WALL)
            mine.sign += 2 if signs.anchors <= 20 and self.size.prose < 200 else 1
            mine.reason = mine.reason or "a field for a password"
        place = self.facts.url[:URL_CHARS].lower().partition("://")[2]
        host, *path = place.partition("?")[0].split("/")
        for part in path:
            if told := rules.PATHS.get(part.partition(".")[0]):
                mine = self.of(told)
                mine.hints += 1
                mine.reason = mine.reason or f"path: {part}"
        host = host.removeprefix("www.")
        if host and (host in title_parts(self.title) or host in self.tops):
            mine = self.of(rules.PARKED)
            mine.hints += 1
            mine.reason = mine.reason or "its name only"
        for word in self.text[:BEGIN].split():
            if len(word) > 12 and word.endswith(("error:", "exception:")):
                mine = self.of(rules.ERROR_PAGE)
                mine.says += 1
                mine.first = True
                mine.reason = mine.reason or word
        for word in self.title.split():
            if len(word) > 9 and word.endswith(("error", "exception")):
                mine = self.of(rules.ERROR_PAGE)
                mine.title += 1
                mine.reason = mine.reason or f"title: {word}"

    def others(self) -> tuple[int, int]:
        """Prose and text that have nothing to do with what the page says.

        A page about such pages says it often: beside cookies, a few lines are taken off only."""
        prose, rest = self.size.prose, self.size.rest
        left, consent = MESSAGE, MESSAGE_OF_CONSENT
        for (begin, end), told in self.lines.items():
            if told == rules.CONSENT_WALL:
                length = min(end - begin, consent)
                consent -= length
            else:
                length = min(end - begin, left)
                left -= length
            rest -= length
            if end - begin >= LONG_LINE:
                prose -= length
        return max(prose, 0), max(rest, 0)

    def best(self, among: tuple[str, ...] = ()) -> tuple[str, str] | None:
        """The label that the page tells best, if it tells any well enough."""
        order = {told: -place for place, told in enumerate(ROOMS)}
        ranked = [
            (
                mine.strong() + mine.sign,
                mine.points(),
                2 * mine.hints + mine.words,
                order[told],
                told,
            )
            for told, mine in self.told.items()
            if (not among or self.instead(told, mine, among)) and self.fits(told, mine)
        ]
        if not ranked:
            return None
        fit = {each[-1] for each in ranked}
        told = max(ranked)[-1]
        mine = self.told[told]
        if told == rules.ERROR_PAGE and not (mine.says or mine.tops) and rules.SOFT_404 in fit:
            told = rules.SOFT_404  # "Error" is the title of many
        if told == rules.SCRIPT_SHELL:  # a test of the visitor needs scripts, and so does a form
            login = self.facts.signs.passwords and rules.LOGIN_WALL in fit
            told = rules.LOGIN_WALL if login else rules.BLOCKED if rules.BLOCKED in fit else told
        return told, self.told[told].reason

    def instead(self, told: str, mine: _Told, among: tuple[str, ...]) -> bool:
        """Whether a page says clearly enough that its status is not all."""
        needed = mine.points() if told == rules.BLOCKED else mine.strong() + mine.sign
        return told in among and needed >= 2

    def fits(self, told: str, mine: _Told) -> bool:
        """Whether enough speaks for a label, and little else is there."""
        points, room = mine.points(), ROOMS[told]
        if self.about:
            return False
        wordy = told == rules.PARKED or self.head  # and words are easily there by chance
        if points < 2 or (wordy and not (mine.strong() or mine.sign or mine.hints)):
            said = mine.hints or (mine.words >= 2 and not self.head)
            return bool(said) and self.size.rest <= TINY and self.facts.signs.anchors < FEW // 2
        prose, factor = room.prose, 1.0
        if self.head and told != rules.LOGIN_WALL:
            prose = min(prose, BESIDE_HEAD)
        titled = mine.title and mine.strong() + mine.sign >= 4
        if titled or (mine.first and told == rules.ERROR_PAGE and not self.head):
            prose, factor = room.titled, 2.5
        elif told == rules.CONSENT_WALL and not mine.strong():  # a bar is on many pages
            few = self.facts.signs.anchors <= FEW
            if not few or self.head or mine.hints < 2 or self.rest > BESIDE_BAR:
                return False
            return not self.main or self.of_consent()
        return (
            self.prose <= prose
            and self.rest <= prose + room.rest * factor
            and self.facts.signs.anchors <= room.anchors * factor
        )

    def bare(self) -> tuple[str, str] | None:
        """A page with hardly any text: what its markup tells."""
        facts, size = self.facts, self.size
        if self.text.count("{{") >= 2 and self.prose < 300:
            return rules.SCRIPT_SHELL, "braces that no script has filled"
        if size.seen > 150 or size.prose > 200 or size.size > 1_500:
            return None
        if found := bare(facts.markup, facts.signs, size.seen):
            return found
        if size.size <= 12 and len(self.text.split()) <= 2:
            if facts.signs.iframes:
                return rules.EMPTY, "a frame only"
            return rules.EMPTY, "images only" if facts.signs.images else "no text"
        return None

    def few_words(self) -> tuple[str, str] | None:
        """A page with menus and a word or two between them: what these hint at."""
        main = self.main
        if not main or self.head or len(main.encode()) > FEW_WORDS or self.size.rest > BESIDE_FEW:
            return None
        points = dict.fromkeys(FEW_TELL, 0)
        first: dict[str, str] = {}
        for words, told in few_hits(main.replace("\n", " ")):
            if told in points:
                points[told] += 1
                first.setdefault(told, words)
        told = max(points, key=points.__getitem__)
        if points[told] < 2 or is_about(self.title) or own_links(self.facts.markup) >= 5:
            return None
        return told, first[told]

    def of_consent(self) -> bool:
        """Whether the main text speaks of consent."""
        flat = self.main.replace("\n", " ")
        return any(
            hit.told == rules.CONSENT_WALL and hit.strength != WORDS
            for hit in hits(flat, 0, set(words_of(flat)))
        )
