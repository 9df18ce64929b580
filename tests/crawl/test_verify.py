"""A crawl with --tls-verify: a site is believed if a trusted authority vouches for it."""

from __future__ import annotations

import os
from pathlib import Path

from lycosa.node.datadir import TRUST
from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from support.program import Crawl, lycosa

WORLD = WorldSpec(seed=6, domains=12, pages=3, https=1.0, page_bytes=5000).only("robots-allow")


def crawl_of(web: SimWeb, root: Path) -> Crawl:
    crawl = Crawl(web, root, 0.2, "--tls-verify", "--engines", "2")
    names = crawl.seeds.read_text().split()
    crawl.seeds.write_text("".join(f"https://{name}/\n" for name in names))
    return crawl


def test_sites_are_verified(tmp_path: Path) -> None:
    tmp_path = tmp_path / "crawl of 09:41"
    tmp_path.mkdir()
    with SimWeb(WORLD, tmp_path / "log", verifiable=True) as web:
        crawl = crawl_of(web, tmp_path)
        believing = {**os.environ, "SSL_CERT_FILE": str(web.ca_file)}
        assert crawl.run(env=believing) == 0, crawl.log.read_text()
        crawl.check_complete()
        crawl.check_polite()
        assert (crawl.data / TRUST).is_dir()


def test_strangers_are_not(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with SimWeb(WORLD, tmp_path / "log") as web, SimWeb(WORLD, tmp_path / "other" / "log") as other:
        crawl = crawl_of(web, tmp_path)
        doubting = {**os.environ, "SSL_CERT_FILE": str(other.ca_file)}
        assert crawl.run(env=doubting) == 0, crawl.log.read_text()
        assert not crawl.kept()
        assert not web.log()


def test_without_certificates_nothing_is_begun(tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text("example.com\n")
    words = ("crawl", tmp_path / "seeds.txt", "--email", "tests@lycosa.example", "--tls-verify")
    missing = {"SSL_CERT_FILE": str(tmp_path / "missing")}
    done = lycosa(*words, "--data-dir", tmp_path / "data", variables=missing)
    assert (done.returncode, done.stdout) == (2, "")
    assert "SSL_CERT_FILE" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "data").exists()
