"""Which languages a page is written in. Pure: a function of the text, bounded whatever it is.

Owns how much of a text is looked at, and what the page's own declaration is worth: it decides
between languages that look alike, and names those that the detector has no model of. The detector
is that of turbohtml (trigrams, decision 0017). Where small words do not show the declared language,
it is asked for two short places of the text, and for more where these leave a doubt. Also owns the
codes: ISO 639-1 where there is one.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

compiled: Callable[[bytes, bytes], tuple[int, int, int]] | None
try:
    from lycosa.page._scan import small_words as compiled
except ImportError:  # there was no C compiler when lycosa was installed
    compiled = None

STRETCHES = 3  # places in which the small words of the declared language are looked for
STRETCH = 200  # characters of each
LEAST_SMALL = 0.15  # of the words there
LEAST_KINDS = 3  # different ones
PROBE = 90  # characters of each of the two places that are looked at first
SURE = 0.9  # of the detector: a language that is expected is not confirmed with less
PIECE = 300  # characters of a place that is looked at where they leave a doubt
PIECES = 4
LEAST_LETTERS = 20  # below this a guess is worth nothing; a CJK character counts for CJK_LETTERS
CJK_LETTERS = 3  # how many letters of an alphabet say as much as one character
LEAST_SHARE = 0.1  # of a second language: less is a slip
LEAST_SURE = 0.01  # of the best: less is no answer

# The codes of ISO 639-1, each with its ISO 639-3.
_CODES = (
    "aa:aar ab:abk ae:ave af:afr ak:aka am:amh an:arg ar:ara as:asm av:ava ay:aym az:aze ba:bak"
    " be:bel bg:bul bi:bis bm:bam bn:ben bo:bod br:bre bs:bos ca:cat ce:che ch:cha co:cos cr:cre"
    " cs:ces cu:chu cv:chv cy:cym da:dan de:deu dv:div dz:dzo ee:ewe el:ell en:eng eo:epo es:spa"
    " et:est eu:eus fa:fas ff:ful fi:fin fj:fij fo:fao fr:fra fy:fry ga:gle gd:gla gl:glg gn:grn"
    " gu:guj gv:glv ha:hau he:heb hi:hin ho:hmo hr:hrv ht:hat hu:hun hy:hye hz:her ia:ina id:ind"
    " ie:ile ig:ibo ii:iii ik:ipk io:ido is:isl it:ita iu:iku ja:jpn jv:jav ka:kat kg:kon ki:kik"
    " kj:kua kk:kaz kl:kal km:khm kn:kan ko:kor kr:kau ks:kas ku:kur kv:kom kw:cor ky:kir la:lat"
    " lb:ltz lg:lug li:lim ln:lin lo:lao lt:lit lu:lub lv:lav mg:mlg mh:mah mi:mri mk:mkd ml:mal"
    " mn:mon mr:mar ms:msa mt:mlt my:mya na:nau nb:nob nd:nde ne:nep ng:ndo nl:nld nn:nno no:nor"
    " nr:nbl nv:nav ny:nya oc:oci oj:oji om:orm or:ori os:oss pa:pan pi:pli pl:pol ps:pus pt:por"
    " qu:que rm:roh rn:run ro:ron ru:rus rw:kin sa:san sc:srd sd:snd se:sme sg:sag sh:hbs si:sin"
    " sk:slk sl:slv sm:smo sn:sna so:som sq:sqi sr:srp ss:ssw st:sot su:sun sv:swe sw:swa ta:tam"
    " te:tel tg:tgk th:tha ti:tir tk:tuk tl:tgl tn:tsn to:ton tr:tur ts:tso tt:tat tw:twi ty:tah"
    " ug:uig uk:ukr ur:urd uz:uzb ve:ven vi:vie vo:vol wa:wln wo:wol xh:xho yi:yid yo:yor za:zha"
    " zh:zho zu:zul"
)
_LONG = dict(pair.split(":") for pair in _CODES.split())
# What else means one of them: members of a group of languages, older codes, terms of libraries.
_SHORT = {long: short for short, long in _LONG.items()} | {
    "cmn": "zh", "chi": "zh", "yue": "zh", "pes": "fa", "per": "fa", "arb": "ar", "ekk": "et",
    "lvs": "lv", "azj": "az", "uzn": "uz", "als": "sq", "alb": "sq", "khk": "mn", "zsm": "ms",
    "may": "ms", "swh": "sw", "npi": "ne", "ory": "or", "fil": "tl", "ydd": "yi", "nor": "nb",
    "ger": "de", "fre": "fr", "dut": "nl", "gre": "el", "cze": "cs", "slo": "sk", "rum": "ro",
    "baq": "eu", "wel": "cy", "ice": "is", "mac": "mk", "arm": "hy", "geo": "ka", "bur": "my",
    "in": "id", "iw": "he", "ji": "yi", "jw": "jv", "mo": "ro", "no": "nb", "sh": "sr",
}  # fmt: skip
# The three letters of languages that have no code of two and that pages declare.
_THREE = (
    "arz ast bar bho ceb chr ckb cnr csb dsb ext fro fur gsw haw hil hmn hsb ilo kab kmr krl ksh"
    " lad lij lmo lrc ltg mai mhr mni mwl mzn nah nap nds new pap pcd pms pnb rup sah sat scn sco"
    " sgs srn szl tet tpi tum tyv udm vec vep vls vro war wuu xal xmf zza"
)
_THREE_ONLY = frozenset(_THREE.split())

# What the detector has models of, where several languages share a script.
MODELS = {
    "Latin": "af ak az ca cs cy da de en eo es et fi fr hr hu id it jv la lt lv nb nl pl pt ro sk"
    " sl sn sv tk tl tr uz vi zu",
    "Cyrillic": "be bg mk ru sr uk",
    "Arabic": "ar fa ur",
    "Devanagari": "hi mr ne",
    "Hebrew": "he yi",
}
# What else is written in these scripts: a page that declares one of them is believed, because the
# detector would name another, unless that is English: a declaration is often left from a template.
_NO_MODELS = {
    "Latin": "an ast bar br bs ceb co dsb eu fo fur fy ga gd gl gn gsw ha haw hsb ht ia ig ilo io"
    " is kab kl ku kw lb lg li lij ln lmo mg mi ms mt nap nds nn ny oc om pap pms qu rm rn rw sc"
    " scn sco se sm so sq sr st su sw szl tet tn to tpi ts tt ty vec vo wa war wo xh yo",
    "Cyrillic": "ab ba ce cv kk kv ky mhr mn os sah tg tt tyv udm uz",
    "Arabic": "arz az ckb ks ku lrc mzn pnb ps sd ug",
    "Devanagari": "bho mai new sa",
    "Hebrew": "lad",
    "Ethiopic": "ti",
    "Bengali": "as mni",
    "Mandarin": "ja wuu",  # a few words of Japanese may be Han alone
}
_BELIEVED = {script: frozenset(codes.split()) for script, codes in _NO_MODELS.items()}
# Languages that a few words do not tell apart.
_ALIKE = [frozenset(group.split()) for group in (
    "da nb sv", "cs sk", "hr sl sr", "id jv", "es pt ca", "ru uk be bg mk sr", "hi mr ne", "nl af",
    "zh ja", "tr az tk",
)]  # fmt: skip

# Languages in Latin letters of all kinds: one of them beats a wrong guess.
_OFTEN = "en de fr es it pl tr da vi hu"

# Small words that make up much of a text in one language and little of texts in others. Where the
# language that a page declares shows by them, nobody else has to be asked. Languages are left out
# whose small words are those of another one (Russian and Bulgarian, Danish and Norwegian).
_SMALL_WORDS = {
    "en": "the of and to in is that for it as was with be by on not at are this have from or an"
    " which you your we will can has been if all a",
    "de": "der die das und ist nicht mit den von zu ein eine auf für sich dem des im wird sind auch"
    " in als bei oder wenn aus",
    "fr": "les des et est une dans pour qui sur pas vous par avec sont au aux cette votre ce leur"
    " le du il à",
    "es": "los las con por para el como más su del y pero sus al está lo una puede este esta",
    "it": "di che per non sono con della dei gli nel alla questo più anche delle si da il lo è le"
    " in",
    "pt": "não uma para com do da dos das em ao você mais foi os pela pelo um na no seu",
    "nl": "het een van dat niet op zijn voor met aan ook wordt naar bij worden deze kan uit door om"
    " de in is en te of als",
    "pl": "nie się jest że dla przez oraz jak ale tego które przy może być od po na są lub i w"
    " z do",
    "sv": "och att det som på är av för den till inte med ett har kan om från eller ska",
    "tr": "ve bir bu için ile olarak daha çok olan gibi veya kadar değil her sonra ne en",
    "hu": "és hogy nem egy az meg van ez csak vagy mint már ki lehet ezt azt kell minden a is",
    "fi": "ja on ei se että oli kun ovat tai myös mutta joka hän niin voi ole kuin sekä sen",
}
SMALL = {code: frozenset(words.split()) for code, words in _SMALL_WORDS.items()}
SMALL_SLOTS = 128  # of a table of them, as in `_small_words.h`
_SPREAD, _MASK = 0x9E3779B97F4A7C15, (1 << 64) - 1

_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_LATIN = re.compile("[A-Za-z]+")
_TAG = re.compile(r"[a-z]{2,3}(?![a-z0-9])").match

Shares = list[tuple[str, float]]
Counted = tuple[int, int, int]


@dataclass(slots=True)
class _Vote:
    """What the detector says of one place."""

    code: str  # '' if it says nothing
    script: str
    weight: float  # characters, times how sure it is
    chars: int


def languages(text: str, declared: str = "") -> Shares:
    """The languages of a text, the best first, each with its share of what was looked at, times how
    sure the detector is; [] where nobody can tell. `declared` is what the page says: a hint."""
    hint = code_of(declared)
    if hint in SMALL and len(text) >= STRETCHES * STRETCH and shows(text, hint):
        return [(hint, 1.0)]
    if len(text) < 3 * PROBE:
        votes = [_vote(text)] if _enough(text) else []
    else:
        votes = _two_looks(text, hint) or _closely(text)
    return _shares(votes, hint)


def shows(text: str, code: str) -> bool:
    """Whether small words of a language are frequent all over a text."""
    for stretch in _places(text, STRETCHES, STRETCH):
        words, small, kinds = counted(stretch.lower(), code)
        if small < LEAST_SMALL * words or kinds < LEAST_KINDS:
            return False
    return True


def counted(text: str, code: str) -> Counted:
    """How many words a text in lower case has, how many of them are small words of a language, and
    how many different ones."""
    if compiled is None:
        return counted_in_python(text, code)
    return compiled(text.encode("utf-8", "replace"), _table(code))


def counted_in_python(text: str, code: str) -> Counted:
    """What the compiled module does."""
    words = text.split()
    found = [*filter(SMALL[code].__contains__, words)]
    return len(words), len(found), len(set(found))


@cache
def _table(code: str) -> bytes:
    """The small words of a language as numbers, none of them longer than eight bytes, where the
    compiled module looks for them."""
    slots = [0] * SMALL_SLOTS
    for word in SMALL[code]:
        number = int.from_bytes(word.encode(), "little")
        slot = (number * _SPREAD & _MASK) >> 57
        while slots[slot]:
            slot = (slot + 1) % SMALL_SLOTS
        slots[slot] = number
    return array("Q", slots).tobytes()


def _two_looks(text: str, hint: str) -> list[_Vote]:
    """Two short places, if they say the same; [] if they leave a doubt. Where only one of them says
    what the page declares, more words around the other one may settle it."""
    places = _places(text, 2, PROBE)
    one = _vote(places[0])
    other = (one.code == hint and _confirmed(places[1], hint)) or _vote(places[1])
    if _clear(one, other, hint):
        return [one, other]
    if hint and (one.code == hint) != (other.code == hint):
        odd = int(one.code == hint)
        wider = _vote(_places(text, 2, PIECE)[odd])
        if wider.code == hint:
            return [wider, one if odd else other]
    return []


def _confirmed(place: str, expected: str) -> _Vote | None:
    """The vote for an expected language, if it wins against those that are often met and those that
    look like it: all others are not compared."""
    among = _panel(expected)
    if among is None:
        return None
    vote = _vote(place, among)
    return vote if vote.code == expected and vote.weight >= SURE * vote.chars else None


def _closely(text: str) -> list[_Vote]:
    count = min(PIECES, max(1, len(text) // PIECE))
    return [_vote(place) for place in _places(text, count, PIECE)]


@lru_cache(maxsize=256)
def code_of(declared: str) -> str:
    """The code of the language that a tag like `de-AT` or `zho` names, '' if it names none.
    Cached: a crawl meets a few dozen of them."""
    found = _TAG(declared.strip().lower().replace("_", "-"))
    if found is None:
        return ""
    code = _SHORT.get(found[0], found[0])
    return code if code in _LONG or code in _THREE_ONLY else ""


def iso639_3(code: str) -> str:
    """The three letters of a code that `languages` gave."""
    return _LONG.get(code, code)


def _enough(text: str) -> bool:
    """Whether a short text has letters enough."""
    if len(text) > 2 * PROBE:
        return True
    letters = sum(map(str.isalpha, text))
    if not text.isascii():
        letters += (CJK_LETTERS - 1) * sum(map(len, _CJK.findall(text)))
    return letters >= LEAST_LETTERS


def _places(text: str, count: int, chars: int) -> list[str]:
    """Pieces of so many characters, spread evenly over the text, each from the begin of a word."""
    step = len(text) // count
    if step <= chars:
        return [text[n * step : n * step + chars] for n in range(count)]
    spare = (step - chars) // 2
    return [_from_word(text, n * step + spare, chars) for n in range(count)]


def _from_word(text: str, begin: int, chars: int) -> str:
    blank = text.find(" ", begin, begin + 20)
    begin = max(begin, blank)
    return text[begin : begin + chars]


def _vote(place: str, among: Any = None) -> _Vote:
    chars = len(place)
    if not place.isascii() and (runs := _CJK.findall(place)):
        # The detector counts letters: a Japanese sentence with two English names looked English.
        said = sum(map(len, runs)) * CJK_LETTERS
        if said >= sum(map(len, _LATIN.findall(place))):
            place = " ".join(runs)
    found = detector()(place, among)
    code = _SHORT.get(found.language, found.language) if found.language else ""
    return _Vote(code, found.script or "", chars * found.confidence, chars)


@cache
def detector() -> Any:
    """turbohtml's function. Loading it takes 60 ms: an engine does so before its first visit, and
    who reads no pages never does."""
    from turbohtml.detect import detect_language

    return detect_language


@cache
def _panel(hint: str) -> Any:
    """The detector's options to choose between few languages, None if there are few anyway."""
    from turbohtml.detect import LanguageDetection

    models, often = MODELS["Latin"].split(), _OFTEN.split()
    if hint not in models:
        return None
    among = [code for code in models if code in often or code == hint or _alike(code, hint)]
    return LanguageDetection(allowed=frozenset(map(iso639_3, among)))


def _shares(votes: list[_Vote], hint: str) -> Shares:
    few = len(votes) == 1 and votes[0].chars < 3 * PROBE
    counted: dict[str, float] = {}
    for vote in votes:
        code, weight = _hinted(vote, hint, few)
        if code:
            counted[code] = counted.get(code, 0.0) + weight
    if not counted:
        return []
    best = max(counted, key=counted.__getitem__)
    if hint in counted and _alike(best, hint):
        best = hint
    for code in [code for code in counted if code != best and _alike(code, best)]:
        counted[best] += counted.pop(code)
    whole = sum(vote.chars for vote in votes)
    shares = sorted(((code, weight / whole) for code, weight in counted.items()), key=_share)
    return [
        (code, round(share, 3))
        for code, share in shares
        if share >= (LEAST_SURE if code == best else LEAST_SHARE)
    ]


def _clear(one: _Vote, other: _Vote, hint: str) -> bool:
    """Whether two places say what the page declares; or the same, at least one of them surely, and
    the page declares no other language that looks alike."""
    if one.code != other.code or not one.code:
        return False
    if hint == one.code:
        return True
    return one.weight + other.weight >= one.chars and not _alike(one.code, hint)


def _share(one: tuple[str, float]) -> float:
    return -one[1]


def _hinted(vote: _Vote, hint: str, few: bool) -> tuple[str, float]:
    """What a vote counts for: the declared language if the detector has no model of it, or can't
    tell it from its own choice in a short text. What both say is not in doubt."""
    code = vote.code
    no_model = code != "en" and hint in _BELIEVED.get(vote.script, ())
    if hint and (no_model or (few and _alike(code, hint))):
        code = hint
    return code, max(vote.weight, vote.chars / 2) if code and code == hint else vote.weight


def _alike(one: str, other: str) -> bool:
    return any(one in group and other in group for group in _ALIKE)
