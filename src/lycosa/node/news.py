"""The news of a run: what is told to those whom --notify names, and when.

Puts together an event, one sentence and the figures of the moment. Alarms are decided in `alarms`,
how a receiver is reached in `notify`.
"""

from __future__ import annotations

import socket

from lycosa.clock import engine_now, wall_now
from lycosa.metrics import Stats
from lycosa.node.alarms import Alarms
from lycosa.node.display import Snapshot
from lycosa.node.notify import Notifier
from lycosa.node.progress import Progress
from lycosa.settings.values import NodeSettings
from lycosa.units import utc


class News:
    """Of one run."""

    def __init__(self, node: NodeSettings, name: str, progress: Progress) -> None:
        self._notifier = Notifier(node.notify)
        self._alarms = Alarms(node.stalled_after, engine_now())
        self._progress = progress
        self._who = {
            "host": socket.gethostname(),
            "data_dir": str(node.data_dir.resolve()),
            "node": name,
        }

    def tell(self, event: str, text: str, last: Snapshot | None = None) -> None:
        """Tell everybody who wants to know; returns at once."""
        if not self._notifier:
            return
        now = last or self._progress.latest
        figures = {
            "pages": now.pages,
            "ok": now.ok,
            "bytes": now.bytes,
            "queued": now.queued,
            "domains": now.domains,
            "pages_per_s": round(now.pages_per_s, 3),
            "elapsed_s": round(now.elapsed, 1),
            "limit": now.limiting,
        }
        at = utc(wall_now())
        self._notifier.tell({"event": event, "at": at, "text": text, **self._who, **figures})

    def look(self, run: Stats, could: bool) -> None:
        """About twice a second: whether there is something to be alarmed about."""
        limit = self._progress.latest.limiting
        for event, text in self._alarms.look(engine_now(), limit, run.visits, could):
            self._progress.say(text)
            self.tell(event, text)

    def close(self) -> None:
        """Give the last events a moment to go out."""
        self._notifier.close()
