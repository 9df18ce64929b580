"""The certificates that sites are checked against, laid out as BoringSSL reads them cheaply.

A file of them is parsed whole for each connection: 1 MB and 7 ms with the usual 140. In a folder,
each lies under a hash of its name, and a connection reads the one that it needs. The system decides
which authorities are trusted.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from pathlib import Path

from lycosa import ownfiles
from lycosa.errors import UserError

ANY = "any.pem"  # some of them: libcurl also wants a file, and would take the system's
_USUAL = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")
_CERTIFICATE = re.compile(
    r"-----BEGIN CERTIFICATE-----\s(?:(?!-----BEGIN).)+?-----END CERTIFICATE-----", re.DOTALL
)
_OURS = re.compile(r"[0-9a-f]{8}\.\d+")
_VERSION = 0xA0  # the tag of a field that old certificates lack

Certificates = list[tuple[str, str]]  # the hash of its name, and the certificate as PEM


def certificates() -> Certificates:
    """Those of the system, or of the file that SSL_CERT_FILE names."""
    import ssl  # not loaded for anything else

    named = os.environ.get("SSL_CERT_FILE")
    places = (named,) if named else (ssl.get_default_verify_paths().cafile, *_USUAL)
    for place in places:
        if place and os.path.isfile(place) and (found := _read(Path(place))):
            return found
    raise UserError(
        f"{named or 'This system'} has no CA certificates, which --tls-verify needs: install the "
        "package ca-certificates, or name a file of them in SSL_CERT_FILE."
    )


def lay_out(found: Certificates, folder: Path) -> None:
    """Make `folder` hold these certificates, and none that it held before."""
    ownfiles.make_directory(folder)
    for old in folder.iterdir():
        if _OURS.fullmatch(old.name):
            old.unlink()
    taken: Counter[str] = Counter()
    for name, pem in found:
        ownfiles.write(folder / f"{name}.{taken[name]}", pem.encode("latin-1"))
        taken[name] += 1
    # All of one name, because a name that is found in this file is not looked for in the folder.
    same = "".join(pem for name, pem in found if name == found[0][0])
    ownfiles.write(folder / ANY, same.encode("latin-1"))


def as_path(folder: Path) -> str:
    """A path of the folder without colons, which to libcurl separate folders."""
    if ":" not in str(folder):
        return str(folder)
    return f"/proc/self/fd/{os.open(folder, os.O_RDONLY | os.O_DIRECTORY)}"


def name_hash(certificate: bytes) -> str:
    """What a certificate's file is called: OpenSSL's older hash of the subject, of plain DER."""
    digest = hashlib.md5(_subject(certificate), usedforsecurity=False).digest()
    return digest[3::-1].hex()


def _read(path: Path) -> Certificates:
    import ssl

    found: Certificates = []
    for pem in _CERTIFICATE.findall(path.read_text("latin-1")):
        try:
            found.append((name_hash(ssl.PEM_cert_to_DER_cert(pem)), pem + "\n"))
        except (ValueError, IndexError) as error:
            raise UserError(
                f"Certificate {len(found) + 1} in {path} can't be read: mend the file, or name "
                "another one in SSL_CERT_FILE."
            ) from error
    return found


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
