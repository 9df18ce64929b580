"""Whether a text that is handed out is the one that its fingerprint speaks of. Pure."""

from __future__ import annotations

from lycosa.records import Flag
from lycosa.urls.fingerprint import errand_fingerprint, fingerprint


def is_text_of(fp: int, url: str, flags: int) -> bool:
    """Whether a copy with these flags may have this URL."""
    if fingerprint(url) == fp:
        return True
    return bool(flags & Flag.ERRAND) and errand_fingerprint(url) == fp
