"""Which URLs we want: limits against traps, file types, seeded domains, exclusions.

Owns the reasons for which a found URL is refused; what an exclusion hits is in `exclusions`. Pure
and cheap: an engine asks it for every new link. Must not know robots.txt, counts per domain (caps
belong to the frontier) or what happens to a refused URL beyond being counted by its reason.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from lycosa.outcomes import Drop
from lycosa.urls.exclusions import Exclusions
from lycosa.urls.ports import blocked_port

# Every answer of `Scope.refuses` but ''.
REASONS = (
    Drop.EXCLUDED,
    Drop.NOT_INCLUDED,
    Drop.NOT_SEEDED,
    Drop.DEPTH,
    Drop.SEGMENTS,
    Drop.REPEATED_SEGMENTS,
    Drop.QUERY_LENGTH,
    Drop.FILE_TYPE,
    Drop.BLOCKED_PORT,
)

# Endings that never hold a page of text. Kept: xml, rss, txt, csv, json and all that scripts use.
_IMAGES = (
    "jpg jpeg jpe jfif png gif webp avif bmp ico svg tif tiff psd heic raw eps ai cdr "
    "woff woff2 ttf otf eot"
)
_SOUND_AND_VIDEO = (
    "mp3 mp4 m4a m4v m4b avi mov wmv mkv webm flv mpg mpeg 3gp ogg oga ogv opus wav flac aac wma "
    "mid midi m3u8 swf"
)
_ARCHIVES_AND_PROGRAMS = (
    "zip gz tgz bz2 xz zst 7z rar tar lz lzma cab jar war exe msi dmg pkg apk ipa deb rpm iso "
    "img bin dll appimage crx xpi torrent"
)
_DOCUMENTS = (
    "pdf ps djvu epub mobi azw3 doc docx docm dot dotx xls xlsx xlsm ppt pptx pps ppsx odt ods odp "
    "rtf vsd dwg dxf stl mdb sqlite parquet shp kmz hdf5"
)
_PARTS_OF_PAGES = "css js mjs map wasm"
NOT_TEXT = frozenset(
    " ".join(
        (_IMAGES, _SOUND_AND_VIDEO, _ARCHIVES_AND_PROGRAMS, _DOCUMENTS, _PARTS_OF_PAGES)
    ).split()
)
_SITEMAPS = (".xml.gz", ".txt.gz")  # the only archives that we read
_LONGEST_ENDING = max(map(len, NOT_TEXT))


@dataclass(frozen=True, slots=True)
class ScopeRules:
    """What all nodes of a crawl agree on."""

    max_depth: int | None = None  # links away from a seed; None: no limit
    max_segments: int = 32  # in the path
    max_repeats: int = 4  # of one segment in the path
    max_query: int = 1000  # characters
    seeded_only: bool = False  # stay in the domains of the seeds
    exclude: tuple[str, ...] = ()  # lines as `parse_excludes` returns them
    include: tuple[str, ...] = ()  # the same: of links only those they hit are wanted; (): all


class Scope:
    """The rules, ready to be asked."""

    def __init__(self, rules: ScopeRules) -> None:
        """UserError if an exclusion can't be understood."""
        self.rules = rules
        self._max_depth = 1 << 62 if rules.max_depth is None else rules.max_depth
        self._exclusions = Exclusions(rules.exclude)
        self._excludes = self._exclusions.excludes
        self._inclusions = Exclusions(rules.include)  # hits in the same way, and means the opposite
        self._includes = self._inclusions.excludes

    def excluding(self, lines: Iterable[str]) -> Scope:
        """The same limits with these exclusions instead."""
        return Scope(replace(self.rules, exclude=tuple(lines)))

    def refuses(self, url: str, host: str, domain: str, depth: int, seeded: bool) -> str:
        """Why a canonical URL is not wanted, '' if it is. `seeded`: its domain has a seed."""
        rules = self.rules
        if rules.exclude and self._excludes(url, host):
            return Drop.EXCLUDED
        # A seed, its redirects and sitemaps have depth 0: they are where a crawl begins.
        if rules.include and depth and not self._includes(url, host):
            return Drop.NOT_INCLUDED
        if rules.seeded_only and not seeded:
            return Drop.NOT_SEEDED
        if depth > self._max_depth:
            return Drop.DEPTH
        return self.shape(url)

    def by_shape(self, depth: int) -> bool:
        """Whether, this far from the seeds, nothing but the shape of a URL matters."""
        rules = self.rules
        if rules.exclude or rules.seeded_only or (rules.include and depth):
            return False
        return depth <= self._max_depth

    def host_by_shape(self, host: str, depth: int, seeded: bool) -> bool:
        """The same for the URLs of one host that no exclusion concerns, and that are all included.
        `seeded`: see `refuses`."""
        if depth > self._max_depth or (self.rules.seeded_only and not seeded):
            return False
        if self.rules.include and depth and not self._inclusions.hits_host(host):
            return False
        return not self.rules.exclude or self._exclusions.spares(host)

    def shape(self, url: str) -> str:
        """Why a URL of this length, these segments and this ending is not wanted, '' if it is."""
        rules = self.rules
        start = url.find("/", 8)
        # A digit before the path ends a port or an IPv4 address: most URLs have none there.
        if url[start - 1] <= "9" and blocked_port(url[:start]) >= 0:
            return Drop.BLOCKED_PORT
        end = url.find("?", start)
        if end < 0:
            end = len(url)
        elif len(url) - end - 1 > rules.max_query:
            return Drop.QUERY_LENGTH
        slashes = url.count("/", start, end)
        if slashes > rules.max_repeats:
            if slashes > rules.max_segments:
                return Drop.SEGMENTS
            if _repeats(url[start:end], rules.max_repeats):
                return Drop.REPEATED_SEGMENTS
        dot = url.rfind(".", end - _LONGEST_ENDING - 1, end)
        if dot > start and url[dot + 1 : end].lower() in NOT_TEXT:
            return "" if url.endswith(_SITEMAPS, start, end) else Drop.FILE_TYPE
        return ""

    def excluded_domain(self, domain: str) -> bool:
        """True if every URL of a registrable domain is excluded."""
        return self._exclusions.excludes_domain(domain)

    def excluded_by(self, url: str, host: str) -> list[str]:
        """All exclusions that hit a URL: for people, who ask why."""
        return self._exclusions.lines(url, host)

    def host_lines(self, host: str) -> list[str]:
        """The exclusions that hit everything of a host."""
        return self._exclusions.host_lines(host)


def _repeats(path: str, limit: int) -> bool:
    """True if one segment occurs more than `limit` times, as in a link that leads into itself."""
    segments = path.split("/")
    distinct = set(segments)
    # Most paths repeat too few segments: then there is no need to count each.
    if len(segments) - len(distinct) < limit:
        return False
    del segments[0]
    return any(segments.count(segment) > limit for segment in distinct)
