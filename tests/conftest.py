"""The order of the tests: whole crawls first, so that the long ones don't come last and alone."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: "/crawl/" not in str(item.path))
