"""Which URLs and which texts are the same: fingerprints.

Two URLs with one dedup key are one page. The key leaves out only what can't change the page:
tracking parameters and session ids. The order of the other parameters stays, because some sites
read it. The engine still fetches the URL as it was linked. Another rule here means other
fingerprints: a running crawl would fetch some pages again. Knows nothing of hosts or domains.
"""

from __future__ import annotations

import re

from xxhash import xxh3_64_intdigest

# Click and campaign ids that the big mail, search and advertising services append to any link.
_TRACKING = (
    "fbclid|gclid|gclsrc|dclid|gbraid|wbraid|srsltid|msclkid|yclid|ysclid|twclid|ttclid"
    "|igshid|igsh|li_fat_id|epik|zanpid|wickedid|rb_clickid|_branch_match_id|_branch_referrer"
    "|mc_cid|mc_eid|_ga|_gl|_openstat|mkt_tok|_hsenc|_hsmi|__hstc|__hssc|__hsfp|hsctatracking"
    "|vero_id|vero_conv|oly_anon_id|oly_enc_id|ml_subscriber|ml_subscriber_hash"
)
# Families of them, told by how the name begins: Google, Matomo, Piwik, HubSpot Ads.
_FAMILIES = r"(?:utm_|mtm_|pk_|hsa_)\w*"
# Session ids by the names that common software gives them.
_SESSIONS = (
    r"phpsessid|jsessionid|sessionid|session_id|sessid|cftoken|zenid|oscsid|xtcsid|aspsessionid\w*"
)
# 'sid' is a session in forum software, a story or a section elsewhere: only long hex is left out.
_PARAMETER = re.compile(
    rf"(?:{_TRACKING}|{_FAMILIES}|{_SESSIONS})(?:=|$)|sid=[0-9a-f]{{16,}}$",
    re.IGNORECASE | re.ASCII,
)
_LONG = 200  # characters of a URL whose parameters are counted
_MOST = 64  # parameters: a URL with more keeps them all, so that it can't hold the loop


def _by_letter(names: str) -> str:
    """The same alternatives grouped by first letter: the search skips nearly all groups at once."""
    groups: dict[str, list[str]] = {}
    for name in names.split("|"):
        groups.setdefault(name[0], []).append(name[1:])
    return "|".join(f"{letter}(?:{'|'.join(rest)})" for letter, rest in groups.items())


# Most queries have nothing to leave out: one search over the lower-case URL shows it.
_SUSPICIOUS = f"{_TRACKING}|utm_|mtm_|pk_|hsa_|{_SESSIONS}|sid="
_suspicious = re.compile(rf"[?&;](?:{_by_letter(_SUSPICIOUS)})", re.ASCII).search


def _beginnings(names: str) -> bytes:
    """A bit for the first three characters of each, of which the low five bits count: the same for
    small and capital letters."""
    found = bytearray(4096)
    for name in names.split("|"):
        one, two, three = (ord(letter) & 31 for letter in name[:3])
        at = one << 10 | two << 5 | three
        found[at >> 3] |= 1 << (at & 7)
    return bytes(found)


# What has none of these behind a '?', '&' or ';' has nothing to leave out: `_links` asks so.
SUSPECTS = _beginnings(_SUSPICIOUS)
_PATH_SESSION = re.compile(
    r";(?:jsessionid|phpsessid|sessionid)=[^;/?]*|;sid=[0-9a-f]{16,}(?=[;/?]|$)", re.IGNORECASE
)


def dedup_key(url: str) -> str:
    """The URL without what only tracks: two URLs with the same key are one page."""
    if ("?" not in url and ";" not in url) or (len(url) > _LONG and _crowded(url)):
        return url
    if not _suspicious(url.lower()):
        return url
    path, mark, query = url.partition("?")
    path = _PATH_SESSION.sub("", path)
    kept = [parameter for parameter in query.split("&") if not _PARAMETER.match(parameter)]
    # A query of nothing but tracking loses its question mark too; a bare '?' stays.
    return f"{path}{mark}{'&'.join(kept)}" if kept else path


def _crowded(url: str) -> bool:
    return url.count("&") + url.count(";") > _MOST


def fingerprint(url: str) -> int:
    """Signed 64-bit hash of a canonical URL's dedup key."""
    return signed_hash(dedup_key(url))


def errand_fingerprint(url: str) -> int:
    """That of a robots.txt that another domain redirects to: no page has it."""
    return signed_hash("robots " + url)


def content_hash(text: str) -> int:
    """Signed 64-bit hash of a page's text; equal text, equal hash."""
    return signed_hash(text)


def signed_hash(text: str) -> int:
    """xxh3 as the databases store it: a signed 64-bit integer."""
    return (xxh3_64_intdigest(text.encode("utf-8", "surrogatepass")) ^ _TOP_BIT) - _TOP_BIT


_TOP_BIT = 1 << 63
