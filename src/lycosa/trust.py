"""The certificates that sites are checked against, laid out as BoringSSL reads them cheaply.

A file of them is parsed whole for each connection: 1 MB and 7 ms with the usual 140. In a folder,
each lies under a hash of its name, and a connection reads the one that it needs. Which authorities
are trusted is the system's business.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from pathlib import Path

from lycosa.errors import UserError

ANY = "any.pem"  # one of them: libcurl also wants a file, and would take the system's
_USUAL = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")
_CERTIFICATE = re.compile(
    r"-----BEGIN CERTIFICATE-----\s.+?-----END CERTIFICATE-----\s*", re.DOTALL
)
_OURS = re.compile(r"[0-9a-f]{8}\.\d+")
_VERSION = 0xA0  # the tag of a field that old certificates lack


def bundle() -> Path:
    """The system's file of certificates, or the one that SSL_CERT_FILE names."""
    import ssl  # not loaded for anything else

    named = os.environ.get("SSL_CERT_FILE")
    places = (named,) if named else (ssl.get_default_verify_paths().cafile, *_USUAL)
    for place in places:
        if place and os.path.isfile(place) and _CERTIFICATE.search(_text(place)):
            return Path(place)
    raise UserError(
        f"{named or 'This system'} has no CA certificates, which --tls-verify needs: install the "
        "package ca-certificates, or name a file of them in SSL_CERT_FILE."
    )


def lay_out(source: Path, folder: Path) -> None:
    """Make `folder` hold the certificates of a file, and none that it held before."""
    import ssl

    found = _CERTIFICATE.findall(_text(source))
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        if _OURS.fullmatch(old.name):
            old.unlink()
    taken: Counter[str] = Counter()
    for pem in found:
        name = name_hash(ssl.PEM_cert_to_DER_cert(pem.strip()))
        (folder / f"{name}.{taken[name]}").write_text(pem)
        taken[name] += 1
    (folder / ANY).write_text(found[0])


def name_hash(certificate: bytes) -> str:
    """What a certificate's file is called: OpenSSL's older hash of the subject, of plain DER."""
    digest = hashlib.md5(_subject(certificate), usedforsecurity=False).digest()
    return digest[3::-1].hex()


def _subject(certificate: bytes) -> bytes:
    """Who it belongs to, still encoded."""
    outer, _ = _content(certificate, 0)
    at, _ = _content(certificate, outer)
    if certificate[at] == _VERSION:
        _, at = _content(certificate, at)
    for _ in ("serial number", "algorithm", "issuer", "validity"):
        _, at = _content(certificate, at)
    return certificate[at : _content(certificate, at)[1]]


def _content(der: bytes, at: int) -> tuple[int, int]:
    """Where the value begins and ends that is encoded here."""
    length, begin = der[at + 1], at + 2
    if length & 0x80:
        begin += length & 0x7F
        length = int.from_bytes(der[at + 2 : begin], "big")
    return begin, begin + length


def _text(path: str | Path) -> str:
    return Path(path).read_text("latin-1")
