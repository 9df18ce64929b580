"""What a store keeps of settings, and what becomes of it in a later run.

The shared settings and the delays of earlier runs are kept once for the crawl, those of a machine
once for each node. Owns their JSON; the keys are in `frontier/keys`. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from lycosa.errors import UserError
from lycosa.frontier.keys import DELAYS_KEY, NODE_KEY, SETTINGS_KEY
from lycosa.settings.values import CrawlSettings, NodeSettings, cores

_NODE_KEPT = (
    "warc", "tls_verify", "allow_private", "allow_network", "only_network", "ip_delay_exempt",
    "nameservers", "port_map", "max_workers", "max_bandwidth", "min_free_disk",
)  # fmt: skip
_FIELDS = {"allow-private-addresses": "allow_private", "nameserver": "nameservers"}


def node_key(name: str = "") -> str:
    """The key of a node's settings; on a server each node has a name."""
    return f"{NODE_KEY}:{name}" if name else NODE_KEY


def kept_for_node(option: str) -> bool:
    """Whether later runs on a machine keep this setting of its own."""
    return _FIELDS.get(option, option.replace("-", "_")) in (*_NODE_KEPT, "engines")


def node_json(node: NodeSettings) -> dict[str, Any]:
    """The settings of a machine that its later runs keep."""
    kept = {name: getattr(node, name) for name in _NODE_KEPT}
    if node.engines != min(cores(), node.max_workers):  # another machine may have other cores
        kept["engines"] = node.engines
    return {**kept, "port_map": {str(port): to for port, to in node.port_map.items()}}


def stored_node(stored: Mapping[str, Any]) -> dict[str, Any]:
    """What `node_json` gave to a store, as fields of NodeSettings; {} if nothing can be read."""
    try:
        found = json.loads(stored.get(NODE_KEY) or "{}")
        kept = {name: found[name] for name in (*_NODE_KEPT, "engines") if name in found}
        for name in ("allow_network", "only_network", "ip_delay_exempt"):
            kept[name] = tuple(kept.get(name, ()))
        kept["nameservers"] = tuple((host, port) for host, port in kept.get("nameservers", ()))
        kept["port_map"] = {int(port): to for port, to in kept.get("port_map", {}).items()}
    except (ValueError, TypeError, AttributeError):
        return {}
    return kept if found else {}


def earlier_delays(stored: Mapping[str, Any]) -> list[tuple[int, float]]:
    """The delays of earlier runs that differed, as (until_ms, delay), the oldest first."""
    return [(int(until), float(delay)) for until, delay in json.loads(stored.get(DELAYS_KEY, "[]"))]


def stored_settings(stored: Mapping[str, Any]) -> CrawlSettings | None:
    """The shared settings that a store keeps; None if it keeps none."""
    text = stored.get(SETTINGS_KEY)
    try:
        return CrawlSettings.from_json(json.loads(text)) if text else None
    except (ValueError, TypeError, AttributeError):
        raise UserError(
            "The settings stored with this crawl can't be read: its database is damaged."
        ) from None
