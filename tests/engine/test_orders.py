"""What an engine reads is what its supervisor wrote."""

from dataclasses import MISSING, fields, replace
from pathlib import Path

from lycosa.engine.orders import EngineOrders, SharedMemory
from lycosa.settings.values import CrawlSettings, NodeSettings

NODE = NodeSettings(
    data_dir=Path("/data/crawl"),
    store="postgresql://user:secret@host/crawl",
    max_workers=123,
    max_bandwidth=4567,
    engines=3,
    warc=True,
    tls_verify=True,
    allow_private=True,
    allow_network=("10.0.0.0/8", "fd00::/8"),
    only_network=("10.1.0.0/16",),
    ip_delay_exempt=("192.0.2.0/24",),
    nameservers=(("192.0.2.1", 53), ("2001:db8::1", 5353)),
    port_map={80: 8080, 443: 8443},
    log_level="debug",
    log_format="json",
    log_interval=2.5,
    min_free_disk=5000,
    notify=("https://example.org/hook", "mail me"),
    stalled_after=30.0,
    view=False,
)
ORDERS = EngineOrders(
    crawl=CrawlSettings(email="tests@lycosa.example", delay=3.0, max_depth=2, sitemaps=True),
    node=NODE,
    node_name="0123abcd",
    index=2,
    fetches=41,
    max_pages=1000,
    to_ms=1_800_000_000_000.25,
    addresses_from=17.5,
    trust="/data/crawl/trust",
    memory=SharedMemory(control=4, marks=5, bandwidth=9, addresses=6, turns=7),
)


def test_nothing_is_lost_or_changed_on_the_way() -> None:
    line = ORDERS.to_json()
    assert b"\n" not in line
    assert EngineOrders.from_json(line) == ORDERS
    plain = replace(ORDERS, node=NodeSettings(), node_name="", trust="")
    assert EngineOrders.from_json(plain.to_json()) == plain


def test_the_example_has_no_default_of_a_node() -> None:
    """Else a field that the way loses would come out right."""
    same = [part.name for part in fields(NODE) if getattr(NODE, part.name) == part.default]
    assert same == []
    assert all(part.default is MISSING for part in fields(EngineOrders))


def test_name_servers_as_the_resolver_takes_them() -> None:
    assert ORDERS.nameservers() == ["192.0.2.1:53", "[2001:db8::1]:5353"]
    assert replace(ORDERS, node=NodeSettings()).nameservers() == []
