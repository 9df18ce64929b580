"""The compiled `_domain_log`, with what it borrows from Python; None where it was not built."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xxhash import xxh3_64_intdigest

from lycosa.frontier.log import packers, texts
from lycosa.records import QueuedUrl
from lycosa.urls.fingerprint import errand_fingerprint, fingerprint

new_chunks: Callable[..., list[bytes]] | None
Index: Any
try:
    from lycosa.frontier.log import _domain_log
except ImportError:  # there was no C compiler when lycosa was installed
    new_chunks = Index = None
else:
    new_chunks, Index = _domain_log.new_chunks, _domain_log.Index
    _domain_log.use(
        *(xxh3_64_intdigest, fingerprint, errand_fingerprint, QueuedUrl),
        *(texts.unpack_block, texts.pack_block, packers.known_dictionary),
        hash("the order of the table"),  # another one in every process
    )
