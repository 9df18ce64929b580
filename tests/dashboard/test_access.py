"""Who may look and who may steer, decided by what a request says of itself."""

from __future__ import annotations

import pytest

from lycosa.dashboard.access import Access

HERE = "127.0.0.1:8900"
LOOPBACK = Access("the-token-of-tests")
ANYWHERE = Access("the-token-of-tests", loopback=False, names=frozenset({"crawl.example"}))
JSON = {"content-type": "application/json"}
KEY = {"authorization": "Bearer the-token-of-tests"}


def status(access: Access, method: str, path: str, **headers: str) -> int:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    refusal = access.refuses(method, path, {"host": HERE, **given})
    return refusal.status if refusal else 200


@pytest.mark.parametrize("host", [HERE, "localhost:8900", "localhost", "[::1]:8900", "127.0.0.2"])
def test_loopback_is_looked_at_by_its_own_names(host: str) -> None:
    assert status(LOOPBACK, "GET", "/api/overview", host=host) == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8900", "127.0.0.1.evil.example", "192.0.2.1", "",
     "localhost.evil", "[::1", "127.0.0.1@evil.example", "[2001:db8::1]:8900"],
)  # fmt: skip
def test_other_host_names_are_refused(host: str) -> None:
    """A name of a stranger that leads to loopback: DNS rebinding."""
    assert status(LOOPBACK, "GET", "/", host=host) == 403
    assert status(LOOPBACK, "GET", "/api/overview", host=host, **KEY) == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:8901"},
        {"origin": "http://localhost:8900"},  # the page was opened as 127.0.0.1
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
    ],
)
def test_other_sites_are_refused_whatever_they_know(headers: dict[str, str]) -> None:
    assert status(LOOPBACK, "GET", "/api/overview", **headers, **KEY) == 403
    assert status(LOOPBACK, "POST", "/api/pause", **headers, **JSON, **KEY) == 403


def test_controls_need_the_token_and_json() -> None:
    assert status(LOOPBACK, "POST", "/api/pause", **JSON) == 401
    for wrong in (
        "Bearer x",
        "Bearer ",
        "the-token-of-tests",
        "Basic the-token-of-tests",
        "Bearer é",
    ):
        assert status(LOOPBACK, "POST", "/api/pause", **JSON, authorization=wrong) == 401
    assert status(LOOPBACK, "POST", "/api/pause", **KEY) == 415
    form = {"content_type": "application/x-www-form-urlencoded"}
    assert status(LOOPBACK, "POST", "/api/pause", **form, **KEY) == 415
    assert status(LOOPBACK, "POST", "/api/pause", **JSON, **KEY) == 200
    own = {"origin": f"http://{HERE}", "sec_fetch_site": "same-origin"}
    assert status(LOOPBACK, "POST", "/api/pause", **own, **JSON, **KEY) == 200


def test_another_address_needs_the_token_for_everything_but_the_empty_page() -> None:
    for host in ("192.0.2.7:8900", "crawl.example", "localhost"):
        for path in (
            "/api/overview",
            "/events",
            "/metrics",
            "/status.json",
            "/healthz",
            "/api/words",
        ):
            assert status(ANYWHERE, "GET", path, host=host) == 401
            assert status(ANYWHERE, "GET", path, host=host, **KEY) == 200
        assert status(ANYWHERE, "GET", "/", host=host) == 200
        assert status(ANYWHERE, "GET", "/static/main.js", host=host) == 200
    assert status(ANYWHERE, "GET", "/", host="evil.example", **KEY) == 403


def test_a_name_given_to_a_loopback_dashboard_is_a_proxy_and_needs_the_token() -> None:
    access = Access("the-token-of-tests", names=frozenset({"crawl.example"}))
    assert status(access, "GET", "/api/overview", host="crawl.example") == 401
    assert status(access, "GET", "/api/overview", host="crawl.example", **KEY) == 200
    assert status(access, "GET", "/api/overview") == 200


@pytest.mark.parametrize("length", ["65537", "10000000", "-1", "1e3", "x", "９"])
def test_a_large_or_odd_length_is_refused(length: str) -> None:
    assert status(LOOPBACK, "POST", "/api/seeds", **JSON, **KEY, content_length=length) == 413


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PATCH"])
def test_other_methods_are_refused(method: str) -> None:
    assert status(LOOPBACK, method, "/api/pause", **JSON, **KEY) == 405
