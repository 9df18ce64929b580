"""The figures of a whole crawl, all runs and all nodes, as the store has them."""

from __future__ import annotations

from contextlib import closing

from lycosa.errors import StoreError, UserError
from lycosa.frontier.protocol import open_reader
from lycosa.node.display import Snapshot
from lycosa.settings.values import NodeSettings


def whole_crawl(run: Snapshot, node: NodeSettings, stored_pages: int) -> Snapshot:
    """The snapshot of a run with the counts of all runs, as `lycosa status` tells them."""
    try:
        with closing(open_reader(node.data_dir, node.store)) as reader:
            total = reader.status()
    except (UserError, StoreError):  # the store is away: what we heard last counts
        run.pages = max(run.pages, stored_pages)
        return run
    run.pages, run.ok, run.bytes = total["pages"], total["ok"], total["bytes"]
    run.outcomes, run.lost = total["outcomes"], total["lost"]
    return run
