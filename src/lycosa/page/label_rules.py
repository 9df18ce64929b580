"""The rules by which pages get their labels: markup, headers, statuses and sizes. A table, no code.

What pages say is in `label_phrases.txt`. `labels` reads both and decides. Sizes are in letters as
`signs` counts them: without blanks, an ideograph as three.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

CONTENT: Final = "content"
LISTING: Final = "listing"
SOFT_404: Final = "soft-404"
BLOCKED: Final = "blocked"
PARKED: Final = "parked"
LOGIN_WALL: Final = "login-wall"
CONSENT_WALL: Final = "consent-wall"
ERROR_PAGE: Final = "error-page"
EMPTY: Final = "empty"
SCRIPT_SHELL: Final = "script-shell"

# Every label, and what it means to a reader of the data.
LABELS: dict[str, str] = {
    CONTENT: "says something by itself: an article, a product, a thread",
    LISTING: "mostly leads to other pages: a front page, a category, search results",
    SOFT_404: "says that what was asked for is not there, with a status below 400",
    BLOCKED: "refuses or tests this visitor: captcha, browser check, rate limit, access denied",
    PARKED: "is no website: a name for sale, a host's placeholder, a server's default page",
    LOGIN_WALL: "asks to sign in, register or subscribe first",
    CONSENT_WALL: "asks for a yes first: to cookies, to an age, to terms",
    ERROR_PAGE: "the server or its application failed or is being maintained, or status 404 or 410",
    EMPTY: "has nothing to read, and no script that would bring it",
    SCRIPT_SHELL: "shows its text only when scripts run",
}
REAL = frozenset((CONTENT, LISTING))  # pages worth having


@dataclass(frozen=True, slots=True)
class Room:
    """How much else may be on a page that says what a label is told by."""

    prose: int  # in long lines that are no links
    titled: int  # the same, if the title tells it, too
    rest: int  # in all other lines that are no links
    anchors: int


# In the order in which they win where two are told equally well.
ROOMS: dict[str, Room] = {
    BLOCKED: Room(prose=170, titled=1_000, rest=250, anchors=60),
    ERROR_PAGE: Room(prose=170, titled=12_000, rest=250, anchors=60),
    PARKED: Room(prose=170, titled=5_000, rest=250, anchors=40),
    CONSENT_WALL: Room(prose=300, titled=1_200, rest=300, anchors=25),
    SOFT_404: Room(prose=150, titled=800, rest=250, anchors=150),
    LOGIN_WALL: Room(prose=250, titled=800, rest=300, anchors=60),
    SCRIPT_SHELL: Room(prose=80, titled=80, rest=100, anchors=40),
}

# A page with more prose, or with more text outside of links, than any room and the message itself
# take is what it seems, unless its title or its beginning says otherwise.
PLENTY = 1_500
PLENTY_OF_ALL = 2_500
MOST_ANCHORS = max(room.anchors for room in ROOMS.values())
MOST_REST = max(room.prose + room.rest for room in ROOMS.values())
# With one of them a page may have a bar about cookies, which then takes more room.
OF_COOKIES = (
    *(
        "ookie",
        "OOKIE",
        "çerez",
        "eväste",
        "süti",
        "kakor",
        "ciasteczk",
        "クッキー",
        "쿠키",
        "คุกกี้",
        "कुकी",
    ),
    *("עוגיות", "الارتباط", "کوکی", "куки"),
)

# A status that decides alone, and one that decides unless the page says something better.
STATUS_IS: dict[int, str] = {
    **dict.fromkeys((404, 410, 502, 504, *range(520, 531)), ERROR_PAGE),
    **dict.fromkeys((401, 511), LOGIN_WALL),
}
STATUS_SUGGESTS: dict[int, str] = {
    402: LOGIN_WALL,
    **dict.fromkeys((403, 405, 406, 418, 429, 451, 999), BLOCKED),
}
# Labels that a page with a status of 400 or more may have for what it says.
INSTEAD: dict[str, tuple[str, ...]] = {
    BLOCKED: (PARKED, LOGIN_WALL),
    LOGIN_WALL: (PARKED, BLOCKED),
    ERROR_PAGE: (BLOCKED, PARKED),
}

# Parts of a path, between slashes and without their ending, that hint at a label.
PATHS: dict[str, str] = {
    **dict.fromkeys(("login", "signin", "sign-in", "log-in", "logon", "sso"), LOGIN_WALL),
    **dict.fromkeys(("register", "signup", "sign-up", "forgot-password"), LOGIN_WALL),
    **dict.fromkeys(("consent", "age-gate", "agegate", "age-check", "cookie-wall"), CONSENT_WALL),
    **dict.fromkeys(("404", "not-found", "notfound", "page-not-found"), SOFT_404),
    **dict.fromkeys(("captcha", "challenge", "blocked", "access-denied"), BLOCKED),
    **dict.fromkeys(("500", "503", "maintenance"), ERROR_PAGE),
    **dict.fromkeys(("parked", "parking", "lander", "suspendedpage"), PARKED),
}

# (name, what its value holds, label); '' is any value.
HEADERS: tuple[tuple[bytes, str, str], ...] = (
    (b"cf-mitigated", "challenge", BLOCKED),
    (b"x-amzn-waf-action", "", BLOCKED),
    (b"x-vercel-mitigated", "", BLOCKED),
    (b"x-sucuri-block", "", BLOCKED),
    (b"x-adblock-key", "", PARKED),
    (b"x-parked", "", PARKED),
    (b"server", "parking", PARKED),
)

# Markup in lower case that tells a label on a page with hardly any text.
MARKUP: dict[str, tuple[bytes, ...]] = {
    BLOCKED: (
        *(b"_cf_chl", b"cf-chl-", b"challenge-form", b"challenge-running", b"challenge-error"),
        *(b"captcha", b"_incapsula_resource", b"incapsula", b"imperva", b"datadome"),
        *(b"perimeterx", b"px-block", b"awswaf", b"aws-waf", b"gokuprops", b"kpsdk", b"kasada"),
        *(b"sucuri_cloudproxy", b"ddos-guard", b"bm-verify", b"sec-if-cpt", b"akamai-bm"),
        *(b"arkoselabs", b"turnstile", b"geetest", b"distil_", b"shieldsquare", b"botguard"),
        *(b"anti-bot", b"antibot", b"bot-check", b"botcheck", b"bot-detect", b"bot_detect"),
        *(b"bot-manager", b"botmanager", b"bot-protect", b"bot-filter", b"botfilter", b"bot-wall"),
        *(b"browser-check", b"browsercheck", b"browser_check", b"browser-verif", b"js-challenge"),
        *(b"jschallenge", b"js_challenge", b"challenge", b"reese84", b"bmak", b"proof-of-work"),
        *(b"fingerprint", b"firewall", b"/waf/", b"waf.js", b"waf_", b"slowaes", b"tonumbers("),
        *(b"human-verif", b"humancheck", b"human-check", b"/anubis/", b"sensor_data", b"botd"),
        *(b"verify", b"verification", b"protection", b"shield", b"guard", b"security-check"),
    ),
    PARKED: (
        *(b"sedoparking", b"parkingcrew", b"bodis", b"parklogic", b"domainparking", b"afternic"),
        *(b"domain-parking", b"domain_parking", b"parking-page", b"parkingpage", b"cashparking"),
        *(b"parking.js", b"/parking", b"parking/", b"parked", b"window.park", b"hugedomains"),
        *(b"adsense/domains", b"/lander", b"uniregistry", b"parkweb"),
        *(b"domainname=", b"domain-for-sale", b"domain_for_sale", b"domainsale"),
        *(b"iisstart", b"iis-85", b"cgi-sys/defaultwebpage", b"defaultwebpage"),
    ),
}
# Tests of a visitor that stand in a form: on a page with little to read they are all there is.
CAPTCHAS = (b"g-recaptcha", b"h-captcha", b"hcaptcha", b"cf-turnstile", b"captcha")

# Scripts that only count visitors: in lower case, in the address or the text of a script.
COUNTERS = (
    *(b"googletagmanager", b"google-analytics", b"gtag(", b"datalayer", b"analytics", b"matomo"),
    *(b"piwik", b"plausible", b"hotjar", b"_paq", b"metrika", b"mc.yandex", b"fbq(", b"counter"),
    *(b"stats.js", b"beacon", b"clarity.ms", b"tracking", b"tracker", b"pixel"),
)
# What a script in the page does that may bring text.
ACTS = (
    *(b"document.", b"location", b"fetch(", b"import", b"xmlhttprequest", b"render", b"mount"),
    *(b"createapp", b"innerhtml", b"eval(", b"atob(", b"window.__", b"$(", b"loadscript"),
)
# Elements that scripts fill.
ROOTS = (
    *(b"root", b"app", b"__next", b"__nuxt", b"___gatsby", b"svelte", b"main-app", b"react-root"),
    *(b"app-root", b"application", b"mount", b"react", b"vue", b"ember", b"spa", b"approot"),
    *(b"content", b"main", b"page", b"container", b"wrapper", b"shell", b"viewport", b"outlet"),
)
OWN_ROOTS = (b"<app-root", b"ng-app", b"<ion-app", b"<my-app", b"<flt-", b"data-reactroot")
