"""The served web over real sockets."""

import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pycares
import pytest
from test_names import query

from lycosa.errors import UserError
from lycosa.simweb import SimWeb, WorldSpec, read_log
from lycosa.simweb.names import Names, address
from lycosa.simweb.server import raise_file_limit

AGENT = "lycosa/1.0 (+https://example.org/; mailto:crawl@example.org)"


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimWeb]:
    spec = WorldSpec(domains=200, pages=5, https=0.5, slow=0.05, slow_seconds=0.1, hostile=True)
    with SimWeb(spec, tmp_path_factory.mktemp("web"), addresses=4) as running:
        yield running


def connect(web: SimWeb, host: str, *, https: bool = False) -> socket.socket:
    failure, ip = Names(web.world, 4).lookup(host)
    assert not failure
    sock = socket.create_connection((ip, web.https_port if https else web.http_port), timeout=5)
    if https:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        sock = context.wrap_socket(sock, server_hostname=host)
    return sock


def get(sock: socket.socket, host: str, target: str, *more: str) -> HTTPResponse:
    lines = [f"GET {target} HTTP/1.1", f"Host: {host}", f"User-Agent: {AGENT}", *more, "", ""]
    sock.sendall("\r\n".join(lines).encode())
    response = HTTPResponse(sock)
    response.begin()
    return response


def http_site(web: SimWeb, **wanted: object) -> str:
    """The host of a site without faults that has the wanted attributes."""
    for index in range(web.spec.domains):
        site = web.world.site(index)
        plain = not (site.fault or site.slow)
        if plain and all(getattr(site, name) == value for name, value in wanted.items()):
            return site.main_host
    raise LookupError(wanted)


def last(web: SimWeb, host: str) -> tuple[str, int]:
    """(target, status) of the last request to a host, once its end is logged."""
    for _ in range(500):
        found = [e for e in web.log() if e.host == host]
        if found and found[-1].end < float("inf"):
            return found[-1].target, found[-1].status
        time.sleep(0.01)
    raise AssertionError("not logged")


@pytest.mark.parametrize("https", [False, True])
def test_robots_and_page_on_one_connection(web: SimWeb, https: bool) -> None:
    host = http_site(web, https=https, robots="robots-dirs", upgrade=https)
    sock = connect(web, host, https=https)
    robots = get(sock, host, "/robots.txt")
    assert robots.status == 200 and b"/private/" in robots.read()
    page = get(sock, host, "/", "Accept-Encoding: gzip")
    assert page.headers["Content-Encoding"] == "gzip"
    assert len(page.read()) == int(page.headers["Content-Length"])
    sock.close()
    entries = [e for e in web.log() if e.host == host]
    assert [e.target for e in entries] == ["/robots.txt", "/"]
    assert entries[0].end <= entries[1].start and entries[0].agent == AGENT
    assert abs(entries[0].wall - time.time()) < 60
    assert {e.scheme for e in entries} == {"https" if https else "http"}


def test_connection_close_is_obeyed(web: SimWeb) -> None:
    host = http_site(web, https=False)
    sock = connect(web, host)
    assert get(sock, host, "/no", "Connection: close").status == 404
    assert last(web, host) == ("/no", 404)


def test_domains_without_https_refuse_it(web: SimWeb) -> None:
    host = http_site(web, https=False)
    with pytest.raises(ConnectionRefusedError):
        connect(web, host, https=True)


@pytest.mark.parametrize("first", ["AES128-GCM-SHA256", "AES256-GCM-SHA384"])
def test_the_client_chooses_the_cipher_as_with_most_real_servers(web: SimWeb, first: str) -> None:
    both = sorted(("AES128-GCM-SHA256", "AES256-GCM-SHA384"), key=lambda name: name != first)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2  # of later ones Python can't set the order
    context.set_ciphers(":".join(f"ECDHE-ECDSA-{name}" for name in both))
    host = http_site(web, https=True)
    _, ip = Names(web.world, 4).lookup(host)
    with (
        socket.create_connection((ip, web.https_port), timeout=5) as raw,
        context.wrap_socket(raw, server_hostname=host) as sock,
    ):
        chosen = sock.cipher()
    assert chosen and chosen[0] == f"ECDHE-ECDSA-{first}"


def test_broken_tls_fails_the_handshake_and_http_works(web: SimWeb) -> None:
    site = next(s for s in map(web.world.site, range(200)) if s.fault == "tls-broken")
    with pytest.raises(ssl.SSLError):
        connect(web, site.name, https=True)
    assert get(connect(web, site.main_host), site.main_host, "/").status == 200


def test_nothing_listens_where_connections_are_refused(web: SimWeb) -> None:
    site = next(s for s in map(web.world.site, range(200)) if s.fault == "refused")
    with pytest.raises(ConnectionRefusedError):
        connect(web, site.name)


def test_http_redirects_to_https(web: SimWeb) -> None:
    host = http_site(web, upgrade=True)
    response = get(connect(web, host), host, "/x?y=1")
    assert response.status == 301
    assert response.headers["Location"] == f"https://{host}/x?y=1"
    last(web, host)
    entry = next(e for e in web.log() if e.host == host and e.target == "/x?y=1")
    assert entry.location == f"https://{host}/x?y=1" and entry.domain in host


def test_slow_hosts_hold_their_response(web: SimWeb) -> None:
    site = next(
        s for s in map(web.world.site, range(200)) if s.slow and not s.fault and not s.https
    )
    begin = time.monotonic()
    get(connect(web, site.main_host), site.main_host, "/")
    assert time.monotonic() - begin >= 0.1


@pytest.mark.parametrize("how", ["chunked", "close"])
@pytest.mark.parametrize("https", [False, True])
def test_framings(tmp_path: Path, how: str, https: bool) -> None:
    spec = WorldSpec(domains=1, https=float(https)).only("framing")
    with SimWeb(spec, tmp_path, addresses=1) as one:
        host = "d000000.test"
        response = get(connect(one, host, https=https), host, f"/framing/{how}.html")
        assert response.read().endswith(b"</html>\n")


def test_reset_and_empty_replies(tmp_path: Path) -> None:
    with SimWeb(WorldSpec(domains=1, https=0).only("faults"), tmp_path, addresses=1) as one:
        host = "d000000.test"
        with pytest.raises(ConnectionResetError):
            get(connect(one, host), host, "/reset/page.html").read()
        with pytest.raises(ConnectionError):
            get(connect(one, host), host, "/empty/page.html")
        assert last(one, host) == ("/empty/page.html", 0)


def test_a_client_that_goes_away_ends_its_request(web: SimWeb) -> None:
    host = "hostile-hang.test"
    sock = connect(web, host)
    sock.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    while not any(e.host == host for e in web.log()):
        time.sleep(0.005)
    assert next(e for e in web.log() if e.host == host).end == float("inf")
    sock.close()
    assert last(web, host) == ("/", 0)


def test_the_log_of_a_running_web_can_be_judged(tmp_path: Path) -> None:
    with SimWeb(WorldSpec(domains=2, plain=True, https=0), tmp_path, addresses=4) as one:
        host = "d000001.test"
        sock = connect(one, host)
        for target in ("/robots.txt", "/"):
            get(sock, host, target).read()
        last(one, host)
        assert one.check(delay=5.0).ok
        get(sock, host, "/articles/1-report.html").read()
        sock.close()
    assert one.check(delay=5.0).kinds() == {"P1 second-page": 1}


def test_a_real_resolver_understands_the_answers(web: SimWeb) -> None:
    found: list[object] = []
    channel = pycares.Channel(servers=[web.nameserver], timeout=5.0, tries=1)
    host = http_site(web)
    dead = next(s.name for s in map(web.world.site, range(200)) if s.fault == "nxdomain")
    for name in (host, dead):
        channel.query(
            name,
            pycares.QUERY_TYPE_A,
            callback=lambda result, error: found.append(error or result.answer[0].data.addr),
        )
    deadline = time.monotonic() + 5
    while len(found) < 2 and time.monotonic() < deadline:
        time.sleep(0.005)
    channel.close()
    assert set(found) == {Names(web.world, 4).lookup(host)[1], pycares.errno.ARES_ENOTFOUND}


def test_names_are_served(web: SimWeb) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        ip, _, port = web.nameserver.partition(":")
        sock.settimeout(5)
        sock.connect((ip, int(port)))
        host = http_site(web)
        sock.send(query(host))
        answer = sock.recv(512)
    assert ".".join(map(str, answer[-4:])) == Names(web.world, 4).lookup(host)[1]


def test_several_processes_share_the_ports(tmp_path: Path) -> None:
    spec = WorldSpec(domains=8, plain=True, https=0)
    with SimWeb(spec, tmp_path, processes=2, addresses=1) as two:
        for _ in range(40):
            conn = HTTPConnection(address("http", 0), two.http_port, timeout=5)
            conn.request("GET", "/", headers={"Host": "d000001.test"})
            assert conn.getresponse().status == 200
            conn.close()
        assert len(two.pids) == 2
    assert len(read_log(tmp_path)) == 40
    files = list(tmp_path.glob("requests-*.log"))
    assert len(files) == 2 and all(f.stat().st_size for f in files)


def test_connections_and_handshakes_are_counted(tmp_path: Path) -> None:
    with SimWeb(WorldSpec(domains=2, plain=True, https=1), tmp_path, addresses=4) as few:
        for https in (False, True):
            with connect(few, "d000000.test", https=https) as sock:
                get(sock, "d000000.test", "/robots.txt").read()
                get(sock, "d000000.test", "/").read()
    assert few.counts() == {"connections": 2, "handshakes": 1}


def test_a_certificate_that_can_be_verified(tmp_path: Path) -> None:
    spec = WorldSpec(domains=2, plain=True, https=1)
    with SimWeb(spec, tmp_path, addresses=1, verifiable=True) as one:
        context = ssl.create_default_context(cafile=str(one.ca_file))
        context.verify_flags |= ssl.VERIFY_X509_STRICT  # as Python 3.13 does by itself
        with (
            socket.create_connection((address("full", 0), one.https_port), timeout=5) as raw,
            context.wrap_socket(raw, server_hostname="d000001.test") as sock,
        ):
            assert get(sock, "d000001.test", "/").status == 200


def test_two_webs_do_not_share_ports(web: SimWeb, tmp_path: Path) -> None:
    with SimWeb(WorldSpec(domains=1, https=0), tmp_path, addresses=1) as other:
        ours = {web.http_port, web.https_port, web.dns_port}
        assert not ours & {other.http_port, other.https_port, other.dns_port}
    ports = (web.http_port, web.https_port, web.dns_port)
    with (
        pytest.raises(UserError, match=str(web.http_port)),
        SimWeb(web.spec, tmp_path, ports=ports),
    ):
        pass


def test_the_server_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    code = (
        "import sys, time\nfrom lycosa.simweb import SimWeb, WorldSpec\n"
        f"web = SimWeb(WorldSpec(domains=1, https=0), {str(tmp_path)!r}, addresses=1)\n"
        "web.start(); print(web.pids[0], flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert parent.stdout
    server = int(parent.stdout.readline())
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    deadline = time.monotonic() + 10
    while _alive(server) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not _alive(server)
    parent.stdout.close()


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow
def test_ten_thousand_idle_connections(tmp_path: Path) -> None:
    if raise_file_limit() < 10_500:
        pytest.skip("needs a hard limit of 10,500 open files")
    with SimWeb(WorldSpec(domains=8, plain=True, https=0), tmp_path) as many:
        idle = [
            socket.create_connection((address("http", n % 64), many.http_port))
            for n in range(10_000)
        ]
        assert get(idle[-1], "d000001.test", "/").status == 200
        assert get(idle[0], "d000001.test", "/").status == 200
        for sock in idle:
            sock.close()
