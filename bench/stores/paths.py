"""Made-up URLs with the shapes of real ones: 55 characters with their host, in a dozen layouts.

Every site has one layout (dates, sections, categories, queries, …) and one scheme of names, as real
sites have. Half of the words of a path are common ones, the other half are words that no list has:
what packs URLs must not gain from having seen these before. Pure, and the same on every machine.
"""

from __future__ import annotations

import random
from functools import cache

from lycosa.records import Url

SLUGS = 1 << 16  # different ones; a site that has more URLs numbers them
_COMMON = """
the to in of for and a how with best new guide review your from on top what is 2024 2025 news home
free online list story day world game book music health food travel school data
"""
_SECTIONS = """
news blog articles sport politics culture products category tags archive docs reference people
events press about services research downloads gallery
"""
_SYLLABLES = """
ba be bo da de di fa fe ga go ha he ka ke ko la le lo ma me mi na ne no pa pe ra re ri ro sa se si
so ta te ti to va ve vi wa we za ber dan fel gar hol kel lam mon nor pel ran sol tam ver
"""
COMMON, SECTIONS, SYLLABLES = (text.split() for text in (_COMMON, _SECTIONS, _SYLLABLES))


@cache
def words() -> list[str]:
    """Words of which names and paths are made."""
    rng = random.Random(17)
    made = {"".join(rng.choices(SYLLABLES, k=rng.randint(2, 4))) for _ in range(9000)}
    return sorted(made)


@cache
def slugs() -> list[str]:
    """Ends of paths, all different: one to four words."""
    rng, own = random.Random(23), words()
    found: dict[str, None] = {}  # a set that keeps their order
    while len(found) < SLUGS:
        count = rng.choices((1, 2, 3, 4), (3, 3, 2, 1))[0]
        picked = [rng.choice(COMMON if rng.random() < 0.5 else own) for _ in range(count)]
        found["-".join(picked)] = None
        if count == 1:  # there are few words, so most of the short ones have a number
            found[f"{picked[0]}-{rng.randrange(100_000)}"] = None
    return list(found)[:SLUGS]


def mixed(a: int, b: int = 0) -> int:
    """32 well-mixed bits for two numbers."""
    x = (a * 0x9E3779B1 + b * 0x85EBCA77 + 0x27D4EB2F) & 0xFFFFFFFF
    x = ((x ^ x >> 15) * 0x2C1B3C6D) & 0xFFFFFFFF
    return x ^ x >> 13


def name_of(d: int) -> str:
    """The registrable domain with that number."""
    own = words()
    return f"{own[mixed(d, 1) % len(own)]}-{_base36(d)}.example"


def number_of(name: str) -> int:
    """The number of a domain, from its name."""
    return int(name[name.index("-") + 1 : -len(".example")], 36)


def origin_of(d: int, name: str) -> str:
    """Where its pages are: two of three sites are on www."""
    return f"https://www.{name}" if mixed(d, 2) % 3 else f"https://{name}"


def url_of(d: int, origin: str, i: int) -> Url:
    """URL number `i` of a domain; 0 is its home page."""
    if i == 0:
        return Url(origin + "/")
    slug = slugs()[(mixed(d, 3) + i * 40_503) % SLUGS]
    if i >= SLUGS:
        slug += f"-{i // SLUGS}"
    return Url(origin + _path(mixed(d, 4) % 10, d, i, slug))


def _path(layout: int, d: int, i: int, slug: str) -> str:
    section = SECTIONS[(d + i // 9) % len(SECTIONS)]
    if layout < 2:
        return f"/{2010 + i // 40 % 16}/{1 + i // 5 % 12:02}/{slug}/"
    if layout < 4:
        return f"/{section}/{slug}"
    if layout == 4:
        return f"/{section}/{slug}-{100_000 + mixed(d, i) % 900_000}.html"
    if layout == 5:
        own = words()
        return f"/{own[(d + i // 30) % len(own)]}/{own[(d + i // 6) % len(own)]}/{slug}.html"
    if layout == 6:
        return f"/{slug}"
    if layout == 7:
        return f"/wiki/{slug.title().replace('-', '_')}"
    if layout == 8:
        return f"/index.php?page={section}&id={i}&t={slug}"
    return f"/{section}/view.php?id={100_000 + mixed(d, i // 3) % 900_000 * 3 + i % 3}&v={i}"


def _base36(number: int) -> str:
    digits = ""
    while True:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
        if not number:
            return digits
