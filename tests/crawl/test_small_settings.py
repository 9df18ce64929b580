"""--max-bandwidth, --bot-name and --include on a real crawl, and after a resume."""

from __future__ import annotations

import json
import time
from pathlib import Path

from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from support.http_server import HttpServer, reply, say
from support.program import EMAIL, Crawl, lycosa, status, wait_for

LIMIT = 400_000  # bytes a second
PAGE = 40_000  # bytes


def received(crawl: Crawl) -> tuple[float, int]:
    """Seconds of the server's clock over which responses went out, and their number."""
    log = [entry for entry in crawl.web.log() if entry.status == 200 and "robots" not in entry.url]
    return max(e.end for e in log) - min(e.start for e in log), len(log)


def test_a_node_receives_no_more_than_it_may(tmp_path: Path) -> None:
    """The limit is named, and it is nearly used."""
    spec = WorldSpec(seed=3, domains=150, pages=2, https=0.0, page_bytes=PAGE)
    with SimWeb(spec.only("robots-allow"), tmp_path / "log") as web:
        crawl = Crawl(web, tmp_path, 0.5, "--engines", "2", "--max-bandwidth", f"{LIMIT}")
        process = crawl.start()
        wait_for(lambda: status(crawl.data).get("limit", "").startswith("bandwidth: "), 60)
        told = status(crawl.data)
        assert "/s that it may have are used (--max-bandwidth)" in told["limit"]
        assert process.wait(120) == 0, crawl.log.read_text()[-2000:]
        crawl.check_complete()
        crawl.check_polite()
        seconds, _ = received(crawl)
        volume = status(crawl.data)["bytes"]
    print(f"{volume / seconds:,.0f} bytes/s of {LIMIT:,} over {seconds:.1f} s")
    assert volume / seconds < 1.15 * LIMIT
    assert volume / seconds > 0.5 * LIMIT


def test_a_resume_keeps_the_bandwidth_and_may_change_it(tmp_path: Path) -> None:
    spec = WorldSpec(seed=3, domains=60, pages=2, https=0.0, page_bytes=PAGE)
    with SimWeb(spec.only("robots-allow"), tmp_path / "log") as web:
        crawl = Crawl(web, tmp_path, 0.3, "--engines", "1")
        slow = Crawl(web, tmp_path, 0.3, "--engines", "1", "--max-bandwidth", "20k")
        process = slow.start()
        wait_for(lambda: status(crawl.data).get("limit", "").startswith("bandwidth: "), 60)
        process.terminate()
        assert process.wait(60) == 3
        stored = json.loads(crawl.rows("SELECT value FROM crawl WHERE key = 'node'")[0][0])
        assert stored["max_bandwidth"] == 20 << 10
        began = time.monotonic()
        crawl.flags += ["--max-bandwidth", "1G"]
        assert crawl.run(resume=True) == 0
        assert time.monotonic() - began < 60
        crawl.check_complete()


ROBOTS = b"User-agent: lycosa\nDisallow: /\n\nUser-agent: example-bot\nDisallow: /private\n"
HOME = (
    b"<p>Home</p><a href=/private>no</a><a href=/open>yes</a><a href=/meta>m</a><a href=/tag>t</a>"
)
META = b"<meta name=EXAMPLE-bot content=noindex><p>Not for that bot</p>"


def site(server: HttpServer) -> str:
    html = "Content-Type: text/html"
    server.paths["/robots.txt"] = say(reply(ROBOTS, "200 OK", "Content-Type: text/plain"))
    server.paths["/"] = say(reply(HOME, "200 OK", html))
    server.paths["/open"] = say(reply(b"<p>Open</p><a href=/news/1>n</a>", "200 OK", html))
    server.paths["/news/1"] = say(reply(b"<p>News</p>", "200 OK", html))
    server.paths["/meta"] = say(reply(META, "200 OK", html))
    tag = "X-Robots-Tag: example-bot: noindex"
    server.paths["/tag"] = say(reply(b"<p>Tagged</p>", "200 OK", html, tag))
    return f"http://127.0.0.1:{server.port}"


def run(tmp_path: Path, base: str, *flags: str) -> dict[str, str]:
    """The outcome of every URL, by its path."""
    seeds, data = tmp_path / "seeds.txt", tmp_path / "data"
    seeds.write_text(f"{base}/\n")
    words = ("crawl", str(seeds), "--email", EMAIL, "--data-dir", str(data), "--delay", "0.02")
    done = lycosa(*words, "--allow-private-addresses", "--engines", "1", *flags)
    assert done.returncode == 0, done.stderr
    lines = lycosa("pages", "--json", "--data-dir", str(data)).stdout.splitlines()
    pages = [json.loads(line) for line in lines]
    return {page["url"].removeprefix(base): page["outcome"] for page in pages}


def test_a_bot_is_called_by_its_own_name(tmp_path: Path, server: HttpServer) -> None:
    base = site(server)
    found = run(tmp_path, base, "--bot-name", "Example-Bot")
    assert found == {
        "/": "ok",
        "/open": "ok",
        "/news/1": "ok",
        "/private": "robots",
        "/meta": "noindex",
        "/tag": "noindex",
    }
    agents = {
        line
        for request in server.requests
        for line in request.decode().split("\r\n")
        if line.lower().startswith("user-agent:")
    }
    assert agents == {f"User-Agent: Example-Bot/1.0 (mailto:{EMAIL})"}
    data = str(tmp_path / "data")
    again = lycosa("crawl", "--resume", "--data-dir", data, "--bot-name", "Other")
    assert again.returncode == 2 and "is called Example-Bot" in again.stderr
    answer = lycosa("audit", "--domain", "127.0.0.1", "--data-dir", data)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "Example-Bot/1.0" in answer.stdout and "'User-agent: Example-Bot'" in answer.stdout


def test_lycosa_itself_is_forbidden_there(tmp_path: Path, server: HttpServer) -> None:
    assert run(tmp_path, site(server)) == {"/": "robots"}


def test_only_what_is_included_is_followed(tmp_path: Path, server: HttpServer) -> None:
    """The seed is fetched although no pattern hits it; `why` names the reason."""
    base = site(server)
    found = run(tmp_path, base, "--bot-name", "b", "--include", "*/open", "--include", "*/meta")
    assert set(found) == {"/", "/open", "/meta"}
    data = ("--data-dir", str(tmp_path / "data"))
    assert json.loads(lycosa("status", "--json", *data).stdout)["drops"] == {"not-included": 3}
    why = lycosa("why", f"{base}/tag", *data).stdout
    assert "state        refused: not-included: no --include hits it (*/open, */meta)" in why
    resumed = lycosa(
        *("crawl", "--resume", *data, "--include", "*/news/*", "--include", "*/open"),
        *("--allow-private-addresses", "--engines", "1"),
    )
    assert resumed.returncode == 0, resumed.stderr
    why = lycosa("why", f"{base}/news/1", *data).stdout
    assert "never seen: no page that was fetched links to it" in why
