"""What kind of page a response is: worth having, or a wall, an error, nothing at all. Pure.

Owns the decision; the rules are tables (`label_rules`, `label_phrases.txt`). An ordinary page is
decided by its sizes and its title. Only one with little prose, or with a telling title, is searched
for phrases: bounded prefixes, by the words that they hold, so that the cost grows with the text and
not with the table. Knows no network; what it is told of a response is in `LabelFacts`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from lycosa.page import label_rules as rules
from lycosa.page.label_rules import ROOMS
from lycosa.page.label_search import (
    HINTS,
    SAYS,
    TITLE_CHARS,
    WORDS,
    Hit,
    hits,
    is_about,
    phrases,
    plain,
    title_parts,
    titled,
)
from lycosa.page.signs import Signs

TEXT_CHARS = 4_000  # of all text that are searched
MAIN_CHARS = 1_500  # of the main text
URL_CHARS = 300
MARKUP_BYTES = 32 * 1024
HIDDEN_BYTES = 12 * 1024  # of it are searched for marks, and there are many
BEGIN = 200  # characters: of a page that begins with an error the rest may be long
NEAR = 1_500  # characters of all text in which a short line may say that something is not there
TOP_LINES = 4  # of the main text: a heading among them counts like a title
TINY = 180  # letters, outside of links: on a page with no more a single hint is enough
FEW = 19  # anchors on such a page
BESIDE_BAR = 200  # letters that may stand beside what may be a bar about cookies only
MESSAGE = 300  # letters of the lines that tell a label
MESSAGE_OF_CONSENT = 1_000  # which is told in more words
TOP = frozenset((rules.SOFT_404, rules.ERROR_PAGE, rules.BLOCKED, rules.PARKED))
LINKS_OVER_PROSE = 5  # percent of all letters: from here on a page is a listing


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


def label(facts: LabelFacts) -> tuple[str, str]:
    """The label and its reason, in a few words."""
    size = _sizes(facts)
    if facts.status >= 400:
        return _by_header(facts) or _by_status(facts, size)
    plenty = size.prose >= rules.PLENTY or size.rest >= rules.PLENTY_OF_ALL
    found = None if plenty else _by_header(facts)
    if found is None and _may_tell(facts, size, plenty):
        page = _Page(facts, size)
        found = page.best() or page.bare()
    return found or _real(facts)


def _may_tell(facts: LabelFacts, size: _Sizes, plenty: bool) -> bool:
    """Whether a page may be anything else than real, so that it is worth searching.

    It has room for what would have to be there, or its title or its beginning speaks."""
    if not plenty and _has_room(facts, size):
        return True
    title = plain(facts.title[:TITLE_CHARS])
    if title and titled(title)[1]:
        return True
    begin = facts.text[:BEGIN].lower()
    if plenty:  # a long text may be the trace of an error
        return any(mark in begin for mark in rules.BROKEN)
    first = len(title) + 1
    return any(
        _tells_title(hit, title) or (hit.strength == SAYS and hit.told == rules.ERROR_PAGE)
        for hit in hits(f"{title} {begin}", first)
    )


def _has_room(facts: LabelFacts, size: _Sizes) -> bool:
    """Whether a page is small enough for any label without a title that tells it."""
    anchors, prose, rest = facts.signs.anchors, size.prose - MESSAGE, size.rest - MESSAGE
    text = facts.text[:TEXT_CHARS]
    if "{{" in text:
        return True
    if prose > rules.MOST_PROSE or rest > rules.MOST_REST:
        room = ROOMS[rules.CONSENT_WALL]
        much = MESSAGE_OF_CONSENT
        if anchors <= room.anchors and rest <= room.prose + room.rest + much:
            return True
        if rest > rules.MOST_REST + much or not any(word in text for word in rules.OF_COOKIES):
            return False
        prose, rest = prose - much, rest - much
    return any(
        anchors <= room.anchors and prose <= room.prose and rest <= room.prose + room.rest
        for room in ROOMS.values()
    )


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
    return page.hidden() or (usual, f"status {status}")


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


def _sizes(facts: LabelFacts) -> _Sizes:
    signs = facts.signs
    if not signs.size and facts.text:  # no HTML
        return _Sizes(len(facts.text), len(facts.text), len(facts.text))
    return _Sizes(signs.size, signs.sentences, max(0, signs.size - signs.link_size))


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
        self.search()
        self.heads()
        self.signs()
        self.prose, self.rest = self.others()
        self.about = is_about(self.title)

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
        for hit in hits(flat, len(self.title) + 1):
            self.note(whole, hit)

    def note(self, whole: str, hit: Hit) -> None:
        """Counts a phrase."""
        first = len(self.title) + 1
        mine, words, begin = self.of(hit.told), hit.words, hit.begin
        if _tells_title(hit, self.title):
            mine.title += 1
            mine.reason = mine.reason or f"title: {words}"
        if begin < 0:
            return
        if hit.strength == SAYS:
            mine.says += 1
            mine.first |= begin < first + BEGIN
            mine.reason = words if not mine.reason.startswith("title") else mine.reason
        elif hit.strength == WORDS:
            mine.words += 1
            mine.reason = mine.reason or words
            return
        else:
            mine.hints += 1
            mine.reason = mine.reason or words
        line = whole.rfind("\n", 0, begin) + 1
        end = whole.find("\n", begin)
        end = end if end >= 0 else len(whole)
        self.lines[line, end] = hit.told
        if hit.strength == HINTS and hit.told in TOP and end - line <= 100:
            near = hit.told == rules.SOFT_404 and begin < first + NEAR
            mine.tops += near or whole[line:end] in self.tops

    def heads(self) -> None:
        """The title and the first lines of the main text, part by part."""
        part, told = titled(self.title)
        if told:
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
            if end - begin >= 80:
                prose -= length
        return max(prose, 0), max(rest, 0)

    def best(self, among: tuple[str, ...] = ()) -> tuple[str, str] | None:
        """The label that the page tells best, if it tells any well enough."""
        order = list(ROOMS)
        ranked = [
            (mine.strong(), mine.points(), 2 * mine.hints + mine.words, -order.index(told), told)
            for told, mine in self.told.items()
            if (not among or self.instead(told, mine, among)) and self.fits(told, mine)
        ]
        if not ranked:
            return None
        told = max(ranked)[-1]
        if told == rules.SCRIPT_SHELL and any(each[-1] == rules.BLOCKED for each in ranked):
            told = rules.BLOCKED  # its test needs scripts
        return told, self.told[told].reason

    def instead(self, told: str, mine: _Told, among: tuple[str, ...]) -> bool:
        """Whether a page says clearly enough that its status is not all."""
        needed = mine.points() if told == rules.BLOCKED else mine.strong() + mine.sign
        return told in among and needed >= 2

    def fits(self, told: str, mine: _Told) -> bool:
        """Whether enough speaks for a label, and little else is there."""
        points, room = mine.points(), ROOMS[told]
        if self.about and self.size.prose >= 150:
            return False
        if points < 2:
            said = mine.hints or mine.words >= 2
            return bool(said) and self.size.rest <= TINY and self.facts.signs.anchors < FEW // 2
        prose, factor = room.prose, 1.0
        titled = mine.title and mine.strong() + mine.sign >= 4
        if titled or (mine.first and told == rules.ERROR_PAGE):
            prose, factor = room.titled, 2.5
        elif told == rules.CONSENT_WALL and not mine.strong():  # a bar is on many pages
            few = self.facts.signs.anchors <= FEW
            return few and mine.hints >= 2 and self.rest <= BESIDE_BAR
        return (
            self.prose <= prose
            and self.rest <= prose + room.rest * factor
            and self.facts.signs.anchors <= room.anchors * factor
        )

    # -- with hardly any text --------------------------------------------------------------------

    def bare(self) -> tuple[str, str] | None:
        """A page with hardly any text: what its markup tells."""
        facts, signs = self.facts, self.facts.signs
        seen = self.size.rest - min(signs.noscript_chars, self.size.rest)
        if self.text.count("{{") >= 2 and self.prose < 300:
            return rules.SCRIPT_SHELL, "braces that no script has filled"
        if seen > 150 or self.size.prose > 200 or self.size.size > 1_500:
            return None
        markup = facts.markup[:MARKUP_BYTES].lower()
        if b"<frameset" in markup:
            return rules.EMPTY, "frames only"
        hidden = self.hidden()
        if hidden:
            return hidden
        if signs.refresh and seen <= 120 and signs.anchors <= 2:
            return rules.EMPTY, "it only refreshes"
        script = _acts(markup) if signs.scripts else ""
        if script and (seen <= 40 or (_root(markup) and signs.anchors <= 40)):
            return rules.SCRIPT_SHELL, script
        if self.size.size <= 12 and len(self.text.split()) <= 2:
            if signs.iframes:
                return rules.EMPTY, "a frame only"
            return rules.EMPTY, "images only" if signs.images else "no text"
        return None

    def hidden(self) -> tuple[str, str] | None:
        """A test of the visitor, or parking, that only its markup shows."""
        markup = self.facts.markup[:HIDDEN_BYTES].lower()
        seen = self.size.rest - min(self.facts.signs.noscript_chars, self.size.rest)
        if seen <= 30:
            for told, marks in rules.MARKUP.items():
                for mark in marks:
                    if mark in markup:
                        return told, f"markup: {mark.decode()}"
            if b"document.cookie" in markup and b"location" in markup:
                return rules.BLOCKED, "a script sets a cookie and comes again"
        if seen <= 150 and not self.facts.signs.passwords:
            for mark in rules.CAPTCHAS:
                if mark in markup:
                    return rules.BLOCKED, f"markup: {mark.decode()}"
        return None


def _acts(markup: bytes) -> str:
    """Why a page's scripts may bring its text, '' if they only count visitors."""
    at = markup.find(b"<script")
    while at >= 0:
        end = markup.find(b"</script", at)
        if end < 0:
            end = len(markup)
        script = markup[at:end]
        if not any(mark in script for mark in rules.COUNTERS):
            if b"src=" in script[: script.find(b">") + 1]:
                return "text by script only"
            if any(mark in script for mark in rules.ACTS):
                return "forwarding by script" if b"location" in script else "text by script only"
        at = markup.find(b"<script", end)
    return ""


def _root(markup: bytes) -> bool:
    """Whether there is an element without content that scripts fill."""
    if any(mark in markup for mark in rules.OWN_ROOTS):
        return True
    for name in rules.ROOTS:
        for quote in (b'"', b"'", b""):
            at = markup.find(b"id=" + quote + name + (quote or b">"))
            if at >= 0:
                inside = markup[markup.find(b">", at) + 1 :][:60].lstrip()
                if inside.startswith(b"</"):
                    return True
    return False


# -- content or listing ---------------------------------------------------------------------------


def _real(facts: LabelFacts) -> tuple[str, str]:
    """A page worth having: whether it speaks itself, or leads to others."""
    signs = facts.signs
    if not signs.size:
        return rules.CONTENT, "text"
    links = 100 * signs.link_size // signs.size
    prose = 100 * signs.sentences // signs.size
    if signs.anchors >= 5 and links - prose >= LINKS_OVER_PROSE:
        return rules.LISTING, f"{links} % links, {prose} % prose"
    return rules.CONTENT, f"{prose} % prose, {links} % links"
