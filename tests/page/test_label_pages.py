"""The pages by which labels are judged are those that were frozen (tests/data/README.md)."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import zstandard

DATA = Path(__file__).parents[1] / "data"
PAGES = DATA / "labels.jsonl.zst"
LABELS = [
    "content",
    "listing",
    "soft-404",
    "blocked",
    "parked",
    "login-wall",
    "consent-wall",
    "error-page",
    "empty",
    "script-shell",
]


@pytest.fixture(scope="module")
def pages() -> list[dict[str, Any]]:
    lines = zstandard.ZstdDecompressor().decompress(PAGES.read_bytes()).decode().split("\n")
    return [json.loads(line) for line in lines if line]


def test_the_pages_are_those_whose_hash_is_written_down() -> None:
    digest = hashlib.sha256(PAGES.read_bytes()).hexdigest()
    assert f"SHA-256: `{digest}`" in (DATA / "README.md").read_text()


def test_every_label_has_thirty_pages_and_there_are_no_others(pages: list[dict[str, Any]]) -> None:
    count = Counter(page["label"] for page in pages)
    assert sorted(count) == sorted(LABELS)
    assert min(count.values()) >= 30
    assert len(pages) >= 330


def test_no_id_url_or_body_is_there_twice(pages: list[dict[str, Any]]) -> None:
    for key in ("id", "url", "html"):
        assert len({page[key] for page in pages}) == len(pages)


def test_a_line_has_what_a_label_is_decided_by(pages: list[dict[str, Any]]) -> None:
    for page in pages:
        assert list(page) == ["id", "label", "status", "headers", "url", "lang", "html", "note"]
        assert 200 <= page["status"] < 600
        assert all(name == name.lower() for name, _ in page["headers"])
        assert "content-type" in dict(page["headers"])
        assert page["note"]


def test_languages_are_many_and_hosts_are_reserved_ones(pages: list[dict[str, Any]]) -> None:
    languages = Counter(page["lang"] for page in pages)
    assert len(languages) >= 12
    assert languages["en"] <= 0.6 * len(pages)
    for page in pages:
        host = "." + (urlsplit(page["url"]).hostname or "")
        assert host.endswith((".example", ".test", ".example.org")), page["id"]
