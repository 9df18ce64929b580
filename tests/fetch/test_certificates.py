"""Checked certificates: who is believed, and that a long list of authorities costs nothing."""

from __future__ import annotations

import datetime
import hashlib
import os
import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from lycosa.errors import UserError
from lycosa.fetch import certificates
from lycosa.records import Failure
from support.http_server import HttpServer, say, self_signed
from support.loop import Loop
from support.malformed import OK

PEM = serialization.Encoding.PEM


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
    os.environ["SSL_CERT_FILE"] = str(bundle)
    certificates.lay_out(certificates.certificates(), folder / "trust")
    return str(folder / "trust")


@pytest.fixture(autouse=True)
def no_bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which one is used is up to the test."""
    monkeypatch.setenv("SSL_CERT_FILE", "")


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


def renewed(folder: Path, name: str) -> tuple[ssl.SSLContext, str, str]:
    """A server signed by the second of two authorities that have one name, and the two."""
    pairs = [authority(), authority()]
    (old, _), (new, key) = pairs
    own = ec.generate_private_key(ec.SECP256R1())
    known_as = x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key())
    leaf = (
        built(name, "Authority", own.public_key())
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(known_as, critical=False)
        .sign(key, hashes.SHA256())
    )
    secret = own.private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "leaf.pem").write_bytes(secret + leaf.public_bytes(PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "leaf.pem")
    return context, old.public_bytes(PEM).decode(), new.public_bytes(PEM).decode()


def authority() -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    key = ec.generate_private_key(ec.SECP256R1())
    known_as = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    builder = built("Authority", "Authority", key.public_key())
    builder = builder.add_extension(known_as, critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    return builder.sign(key, hashes.SHA256()), key


def built(name: str, issuer: str, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    today = datetime.datetime.now(datetime.UTC)
    names = [x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, n)]) for n in (name, issuer)]
    builder = x509.CertificateBuilder().subject_name(names[0]).issuer_name(names[1])
    builder = builder.public_key(key).serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(today - datetime.timedelta(days=1))
    return builder.not_valid_after(today + datetime.timedelta(days=1))


@pytest.mark.parametrize("strangers", [0, 3])
def test_an_authority_that_was_renewed(loop: Loop, tmp_path: Path, strangers: int) -> None:
    """Two certificates of one name: both are tried, also if they come first."""
    context, old, new = renewed(tmp_path, "a.localhost")
    server = HttpServer(tls=context)
    server.paths["/"] = say(OK)
    folder = trusting(tmp_path, authorities(tmp_path, strangers, old, new))
    request = loop.request(server.port, host="a.localhost", https=True)
    assert loop.get(loop.fetcher(trust=folder), request).failure == Failure.NONE
    server.close()


def test_a_folder_with_a_colon(loop: Loop, site: tuple[HttpServer, str], tmp_path: Path) -> None:
    server, certificate = site
    inner = tmp_path / "crawl of 09:41"
    inner.mkdir()
    folder = certificates.as_path(Path(trusting(inner, authorities(tmp_path, 3, certificate))))
    request = loop.request(server.port, host="a.localhost", https=True)
    assert loop.get(loop.fetcher(trust=folder), request).failure == Failure.NONE


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
    with pytest.raises(UserError, match="install"):
        certificates.certificates()


@pytest.mark.parametrize("body", ["AAAA", "A", "====", "no base 64", "\xe9", "MIIB", "MP//////"])
def test_what_is_no_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    good = Path(self_signed(tmp_path, "a.localhost")[1]).read_text()
    bad = f"-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n"
    path = tmp_path / "ca.pem"
    path.write_text(good + bad + good, "latin-1")
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    with pytest.raises(UserError, match=r"Certificate 2 in .*ca\.pem"):
        certificates.certificates()


def test_an_end_that_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = Path(self_signed(tmp_path, "a.localhost")[1]).read_text()
    path = tmp_path / "ca.pem"
    path.write_text(good.partition("-----END")[0] + good.replace("\n", "\r\n"))
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    assert len(certificates.certificates()) == 1
