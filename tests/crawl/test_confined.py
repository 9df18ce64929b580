"""Where a crawl does not connect to: blocked ports, and what lies outside of --only-network."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.http_server import HttpServer, reply, say
from support.program import EMAIL, Words, lycosa, status

PORTS = (25, 110, 6379, 6667, 10080)


def crawl(root: Path, server: HttpServer, *seeds: str, flags: tuple[str, ...] = ()) -> str:
    """What a crawl said; blocked ports are mapped to the server, so that a request is seen."""
    root.mkdir(exist_ok=True)
    (root / "seeds.txt").write_text("\n".join(seeds))
    mapped = ",".join(f"{port}={server.port}" for port in (80, *PORTS))
    words: Words = ["crawl", root / "seeds.txt", "--email", EMAIL, "--data-dir", root / "data"]
    words += ["--delay", "0.05", "--engines", "1", "--port-map", mapped]
    done = lycosa(*words, "--allow-private-addresses", *flags, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def asked(server: HttpServer) -> list[str]:
    """The Host headers of all requests."""
    lines = [line for head in server.requests for line in head.split(b"\r\n")]
    return sorted({line[6:].decode() for line in lines if line.startswith(b"Host: ")})


@pytest.fixture
def server() -> HttpServer:
    return HttpServer()


def test_no_link_leads_to_a_blocked_port(server: HttpServer, tmp_path: Path) -> None:
    """A link, a base, a redirect, a redirect of robots.txt; on any host, in any spelling."""
    links = "".join(f"<a href='http://127.0.0.1:{port}/x'>x</a>" for port in PORTS)
    links += "<a href='http://127.0.0.1:0025/y'>y</a><a href='//127.0.0.1:25/z'>z</a>"
    server.paths["/"] = say(reply(links.encode() + b"<a href='/base'>b</a><a href='/go'>g</a>"))
    base = b"<base href='http://127.0.0.1:25/dir/'><a href='a'>a</a><a href='/b'>b</a>"
    server.paths["/base"] = say(reply(base))
    server.paths["/go"] = say(reply(b"", "302 F", "Location: http://127.0.0.1:6379/gone"))
    crawl(tmp_path, server, "http://127.0.0.1/")
    assert asked(server) == ["127.0.0.1"]
    told = status(tmp_path / "data")
    assert told["drops"]["blocked-port"] >= len(PORTS) + 3
    assert told["outcomes"] == {"ok": 2, "redirect": 1}


def test_nor_does_a_robots_txt(server: HttpServer, tmp_path: Path) -> None:
    server.paths["/robots.txt"] = say(reply(b"", "302 F", "Location: http://127.0.0.1:25/r.txt"))
    crawl(tmp_path, server, "http://127.0.0.1/")
    assert asked(server) == ["127.0.0.1"]
    assert status(tmp_path / "data")["outcomes"] == {"robots-unreachable": 1}


def test_nor_a_seed(server: HttpServer, tmp_path: Path) -> None:
    lines = [
        "http://127.0.0.1/",
        "http://127.0.0.1:25/",
        "127.0.0.1:6379",
        "https://127.0.0.1:110/",
    ]
    said = crawl(tmp_path, server, *lines)
    assert asked(server) == ["127.0.0.1"]
    for number, port in ((2, 25), (3, 6379), (4, 110)):
        assert f"seed line {number} left out: no web page is asked for at port {port}" in said


def test_a_blocked_port_is_refused_whatever_asks() -> None:
    from lycosa.urls.scope import REASONS, Scope, ScopeRules

    assert "blocked-port" in REASONS
    scope = Scope(ScopeRules())
    for host in ("a.example", "127.0.0.1", "[2001:db8::1]", "a.example."):
        for port, reason in ((25, "blocked-port"), (6379, "blocked-port"), (8080, ""), (2525, "")):
            assert scope.shape(f"http://{host}:{port}/p:25/x") == reason
        assert scope.shape(f"http://{host}/") == ""
        assert scope.shape(f"https://{host}/:25") == ""


def test_only_one_network_is_connected_to(tmp_path: Path) -> None:
    inside, outside = HttpServer("127.0.0.1"), HttpServer("127.0.0.2")
    inside.paths["/"] = say(reply(f"<a href='http://127.0.0.2:{outside.port}/'>o</a>".encode()))
    seeds = (f"http://127.0.0.1:{inside.port}/", f"http://127.0.0.2:{outside.port}/seed")
    said = crawl(tmp_path, inside, *seeds, flags=("--only-network", "127.0.0.1/32"))
    assert outside.connections == 0, said
    assert status(tmp_path / "data")["outcomes"] == {"ok": 1, "outside-network": 2}
    why = lycosa("why", seeds[1], "--data-dir", tmp_path / "data").stdout
    assert "outside of the networks in --only-network" in why
    again = tmp_path / "more.txt"
    again.write_text(f"http://127.0.0.2:{outside.port}/more\n")
    done = lycosa("crawl", "--resume", again, "--data-dir", tmp_path / "data")
    assert done.returncode == 0 and outside.connections == 0  # a resume keeps it


def test_several_networks_and_every_spelling() -> None:
    from lycosa.fetch.addresses import Inside

    inside = Inside(["127.0.0.0/8", "10.1.0.0/16", "2001:db8::/32"])
    assert all(map(inside, ["127.0.0.1", "10.1.2.3", "::ffff:10.1.2.3", "2001:db8::5"]))
    assert not any(map(inside, ["10.2.0.1", "::1", "192.0.2.1", "::ffff:10.2.0.1", "x", ""]))
    assert Inside()("anything")


def test_a_private_network_must_be_allowed_as_well(tmp_path: Path) -> None:
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("a.example\n")
    words: Words = ["crawl", seeds, "--email", EMAIL, "--data-dir", tmp_path / "d"]
    done = lycosa(*words, "--only-network", "10.1.0.0/16")
    assert done.returncode == 2 and "add --allow-network 10.1.0.0/16" in done.stderr
    assert not (tmp_path / "d").exists()
    bad = lycosa(*words, "--only-network", "ten")
    assert bad.returncode == 2 and "--only-network must be a network" in bad.stderr
