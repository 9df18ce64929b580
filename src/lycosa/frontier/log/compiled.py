"""The compiled `_domain_log`, with what it borrows from Python; None where it was not built."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from xxhash import xxh3_64_intdigest

from lycosa.frontier.log import packers, texts
from lycosa.frontier.values import Link
from lycosa.records import QueuedUrl
from lycosa.urls.fingerprint import errand_fingerprint, fingerprint

new_chunks: Callable[..., list[bytes]] | None
by_domain: Callable[[Iterable[Link]], dict[int, list[Link]]] | None
Index: Any
try:
    from lycosa.frontier.log import _domain_log
except ImportError:  # there was no C compiler when lycosa was installed
    new_chunks = by_domain = Index = None
else:
    new_chunks, by_domain = _domain_log.new_chunks, _domain_log.by_domain
    Index = _domain_log.Index
    _domain_log.use(
        *(xxh3_64_intdigest, fingerprint, errand_fingerprint, QueuedUrl),
        *(texts.unpack_block, texts.pack_block, packers.known_dictionary),
        hash("the order of the table"),  # another one in every process
    )
