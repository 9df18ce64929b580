"""Checked certificates: who is believed, and that a long list of authorities costs nothing."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509

from lycosa import trust
from lycosa.errors import UserError
from lycosa.records import Failure
from net.http_server import HttpServer, say, self_signed
from net.loop import Loop
from net.malformed import OK

pytest_plugins = ["net.fixtures"]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[HttpServer, str]]:
    """A server called a.localhost, and its certificate."""
    context, certificate = self_signed(tmp_path, "a.localhost")
    server = HttpServer(tls=context)
    server.paths["/"] = say(OK)
    yield server, Path(certificate).read_text()
    server.close()


def authorities(folder: Path, count: int, *more: str) -> Path:
    """A file with so many certificates, the given ones last."""
    names = [f"authority-{number}.example" for number in range(count)]
    others = [Path(self_signed(folder, name)[1]).read_text() for name in names]
    bundle = folder / "bundle.pem"
    bundle.write_text(
        "# They come with comments.\n" + "\n# And between them\n".join([*others, *more])
    )
    return bundle


def trusting(folder: Path, bundle: Path) -> str:
    trust.lay_out(bundle, folder / "trust")
    return str(folder / "trust")


def test_who_is_believed(loop: Loop, site: tuple[HttpServer, str], tmp_path: Path) -> None:
    server, certificate = site
    namesake = Path(self_signed(tmp_path, "a.localhost")[1]).read_text()

    def get(host: str, *trusted: str) -> str:
        folder = trusting(tmp_path, authorities(tmp_path, 3, *trusted))
        request = loop.request(server.port, host=host, https=True)
        return loop.get(loop.fetcher(trust=folder), request).failure

    assert get("a.localhost") == Failure.TLS  # nobody has signed it
    assert get("a.localhost", namesake) == Failure.TLS  # another key
    assert get("a.localhost", certificate) == Failure.NONE
    assert get("a.localhost", certificate, namesake) == Failure.NONE
    assert get("b.localhost", certificate) == Failure.TLS  # another name's
    assert get("a.localhost", namesake) == Failure.TLS  # no longer trusted


def test_the_number_of_authorities_costs_nothing(
    loop: Loop, site: tuple[HttpServer, str], tmp_path: Path
) -> None:
    server, certificate = site

    def cost(count: int) -> float:
        fetcher = loop.fetcher(trust=trusting(tmp_path, authorities(tmp_path, count, certificate)))
        best = float("inf")
        for _ in range(5):
            began = time.thread_time()
            for _ in range(5):
                request = loop.request(server.port, host="a.localhost", https=True)
                assert loop.get(fetcher, request).failure == Failure.NONE
            best = min(best, time.thread_time() - began)
        return best

    assert cost(400) < 2 * cost(1)


def test_names_of_files(tmp_path: Path) -> None:
    _, path = self_signed(tmp_path, "a.localhost")
    bundle = authorities(tmp_path, 2, Path(path).read_text())
    folder = Path(trusting(tmp_path, bundle))
    (folder / "somebody's").touch()
    for certificate in x509.load_pem_x509_certificates(bundle.read_bytes()):
        digest = hashlib.md5(certificate.subject.public_bytes()).digest()
        name = f"{int.from_bytes(digest[:4], 'little'):08x}.0"
        assert x509.load_pem_x509_certificate((folder / name).read_bytes()) == certificate
    trusting(tmp_path, authorities(tmp_path, 1))
    assert len(list(folder.glob("*.0"))) == 1
    assert (folder / "somebody's").exists()


@pytest.mark.parametrize("content", [None, "", "-----BEGIN CERTIFICATE-----\n"])
def test_no_certificates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | None
) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    with pytest.raises(UserError, match="SSL_CERT_FILE"):
        trust.bundle()
