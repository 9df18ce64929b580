"""Settings that a store kept: a resume changes what the user gives, and nothing else."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import pytest

from lycosa import __version__
from lycosa.errors import UserError
from lycosa.settings.collect import Values, collect, crawl_settings, node_settings
from lycosa.settings.options import OPTIONS
from lycosa.settings.stored import node_json, stored_settings
from lycosa.settings.values import CrawlSettings

EMAIL = {"email": "you@example.org"}


def crawl(
    flags: Mapping[str, object] | None = None, environ: dict[str, str] | None = None
) -> Values:
    return collect("crawl", flags or {}, environ or {})


def test_resuming_keeps_what_is_not_given() -> None:
    stored = CrawlSettings(email="you@example.org", delay=1.0, ip_delay=0.5, sitemaps=True)
    assert crawl_settings(crawl(), stored) == stored
    changed = crawl_settings(crawl({"delay": "7", "sitemaps": False}), stored)
    assert (changed.delay, changed.ip_delay, changed.sitemaps) == (7.0, 0.1, False)
    assert changed.email == "you@example.org"


def test_stored_settings() -> None:
    assert stored_settings({}) is None
    found = stored_settings({"settings": '{"email": "you@example.org", "delay": 2.0}'})
    assert found is not None
    assert found.delay == 2.0


# A value of each shared setting that is not its default, and another one for a resume.
SHARED = {
    "email": ("a@example.org", "b@example.org"),
    "contact-url": ("https://a.example/", "https://b.example/"),
    "delay": ("70", "140"),
    "ip-delay": ("1", "3"),
    "seeded-urls-only": (True, False),
    "include": (["a.example"], ["a.example", "*/b/*"]),
    "language": (["de"], ["pt", "gl"]),
    "max-depth": ("0", "5"),
    "max-pages-per-domain": ("7", "8"),
    "max-queued-per-domain": ("70", "80"),
    "keep-repeats": (True, False),
    "sitemaps": (True, False),
    "ignore-nofollow": (True, False),
    "visit-timeout": ("60", "50"),
    "lease-time": ("200", "300"),
    "max-body": ("1M", "2M"),
}


def test_every_shared_setting_is_in_the_table_above() -> None:
    apart = {"exclude-file", "include-file", "bot-name"}  # files, and what stays as it is
    assert set(SHARED) | apart == {o.name for o in OPTIONS if o.shared}


@pytest.mark.parametrize("changed", SHARED)
def test_no_option_of_a_resume_resets_another(changed: str) -> None:
    """Also not one whose value is what it would have been anyway: the user said so."""
    before = crawl_settings(crawl({name: first for name, (first, _) in SHARED.items()}))
    after = crawl_settings(crawl({changed: SHARED[changed][1]}), before)
    assert len(after.difference(before)) == 1
    assert after.difference(before)[0].startswith(f"--{changed}: ")
    again = crawl_settings(crawl({"delay": "11"}), CrawlSettings.from_json(after.to_json()))
    assert again.ip_delay == after.ip_delay


def test_a_derived_ip_delay_still_follows_the_delay() -> None:
    before = crawl_settings(crawl(EMAIL))
    assert crawl_settings(crawl({"delay": "7"}), before).ip_delay == pytest.approx(0.1)


# The same of what belongs to a machine.
NODE = {
    "warc": True,
    "tls-verify": True,
    "allow-private-addresses": True,
    "allow-network": ["10.0.0.0/8"],
    "only-network": ["10.0.0.0/8"],
    "ip-delay-exempt": ["192.0.2.0/24"],
    "nameserver": ["192.0.2.1"],
    "port-map": "80=8080",
    "max-workers": "77",
    "engines": "5",
}


@pytest.mark.parametrize("changed", ["warc", "max-workers", "engines", "nameserver"])
def test_a_resume_keeps_what_was_said_of_the_machine(changed: str) -> None:
    before = node_settings(crawl(NODE))
    stored = {"node": json.dumps(node_json(before))}
    other = {"warc": False, "max-workers": "78", "engines": "6", "nameserver": ["192.0.2.2"]}
    after = node_settings(crawl({changed: other[changed]}), stored)
    different = {key for key, value in asdict(after).items() if value != getattr(before, key)}
    assert different == {changed.replace("-", "_").replace("nameserver", "nameservers")}


def test_what_is_included_comes_from_flags_and_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "include.txt"
    file.write_text("# mine\n*/news/*\nA.example\n")
    found = crawl_settings(
        crawl({**EMAIL, "include": ["a.example", ".test"], "include-file": str(file)})
    )
    assert found.include == ("a.example", ".test", "*/news/*")
    assert found.scope_rules().include == found.include
    assert crawl_settings(crawl(), found) == found
    assert crawl_settings(crawl({"include": ["b.example"]}), found).include == ("b.example",)
    assert CrawlSettings.from_json(found.to_json()) == found


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("a b", "In --include: Line 1 of the inclusions, 'a b': write one inclusion on each line"),
        ("*", "'\\*': it would include everything"),
        ("co.uk", "it is a public suffix, write .co.uk to include every domain below it"),
    ],
)
def test_a_bad_inclusion_is_named(line: str, why: str) -> None:
    with pytest.raises(UserError, match=why):
        crawl_settings(crawl({**EMAIL, "include": [line]}))


def test_too_many_inclusions_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "include.txt"
    file.write_text("".join(f"d{n}.example\n" for n in range(10_001)))
    with pytest.raises(UserError, match="At most 10,000 lines can be included, not 10,001"):
        crawl_settings(crawl({**EMAIL, "include-file": str(file)}))
    with pytest.raises(UserError, match=r"nowhere\.txt can't be read"):
        crawl_settings(crawl({**EMAIL, "include-file": str(tmp_path / "nowhere.txt")}))


def test_a_bot_keeps_its_name() -> None:
    """Its robots.txt files were read by that name."""
    before = crawl_settings(crawl({**EMAIL, "bot-name": "Example-Bot"}))
    assert before.user_agent == "Example-Bot/1.0 (mailto:you@example.org)"
    assert crawl_settings(crawl({"bot-name": "Example-Bot"}), before) == before
    with pytest.raises(UserError, match="This crawl is called Example-Bot"):
        crawl_settings(crawl({"bot-name": "Other"}), before)
    assert crawl_settings(crawl(EMAIL)).user_agent.startswith(f"lycosa/{__version__} (")


def test_a_node_keeps_its_bandwidth() -> None:
    node = node_settings(crawl({"max-bandwidth": "20Mbit/s"}))
    assert node.max_bandwidth == 2_500_000
    stored = {"node": json.dumps(node_json(node))}
    assert node_settings(crawl(), stored).max_bandwidth == 2_500_000
    assert node_settings(crawl({"max-bandwidth": "1M"}), stored).max_bandwidth == 1 << 20
    assert node_settings(crawl()).max_bandwidth == 0
