"""Certificates for the simulated web: an authority and leaves, made when https is asked for.

Owns the one use of `cryptography`, which is imported only here and only when needed. The server
shows one certificate for every name, which is enough for a crawler that does not verify. With
`verifiable` it makes a leaf for each domain, and a client that trusts the authority's file
(`ca.pem`) can verify them.
"""

from __future__ import annotations

import datetime
import ssl
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lycosa import ownfiles
from lycosa.called import pip_install
from lycosa.errors import UserError
from lycosa.simweb.paths import registrable

if TYPE_CHECKING:
    from cryptography.x509 import Certificate, CertificateBuilder, KeyUsage

CA_FILE = "ca.pem"
_FILES = ("ca-key.pem", "leaf.pem")
_DAYS = 30
_CACHED_CONTEXTS = 1_000


def available() -> bool:
    """Whether certificates can be made here."""
    try:
        _library()
    except UserError:
        return False
    return True


def _library() -> tuple[Any, Any, Any, Any]:
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError as error:
        raise UserError(
            "A simulated web with https needs another package: "
            f"'{pip_install('cryptography')}', or ask for a web without https (--https 0)."
        ) from error
    return x509, hashes, serialization, ec


def _pem(key: Any) -> bytes:
    _, _, serialization, _ = _library()
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return bytes(key.private_bytes(encoding, form, serialization.NoEncryption()))


def _builder(subject: str, issuer: str, public: Any, signer: Any) -> CertificateBuilder:
    """A certificate with both key identifiers, which strict verifiers (Python 3.13) ask for."""
    x509, _, _, _ = _library()
    today = datetime.datetime.now(datetime.UTC)
    builder: CertificateBuilder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, subject)]))
        .issuer_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, issuer)]))
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - datetime.timedelta(days=1))
        .not_valid_after(today + datetime.timedelta(days=_DAYS))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer), critical=False)
    )
    return builder


def _sign(builder: CertificateBuilder, key: Any) -> Certificate:
    _, hashes, _, _ = _library()
    return builder.sign(key, hashes.SHA256())


def make_authority(directory: Path) -> None:
    """Writes ca.pem, its key, and one leaf for all names."""
    x509, _, serialization, ec = _library()
    ownfiles.make_directory(directory)
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key()
    builder = _builder("Simulated web", "Simulated web", public, public)
    builder = builder.add_extension(_signs_certificates(), critical=True)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    pem = _sign(builder, key).public_bytes(serialization.Encoding.PEM)
    ownfiles.write(directory / CA_FILE, pem)
    _write_secret(directory / _FILES[0], _pem(key))
    _write_secret(directory / _FILES[1], make_leaf(directory, ["*.test"]))


def _signs_certificates() -> KeyUsage:
    x509, _, _, _ = _library()
    others = (
        *("digital_signature", "content_commitment", "key_encipherment", "data_encipherment"),
        *("key_agreement", "encipher_only", "decipher_only"),
    )
    usage: KeyUsage = x509.KeyUsage(
        key_cert_sign=True, crl_sign=True, **dict.fromkeys(others, False)
    )
    return usage


def _write_secret(path: Path, data: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(data)


def make_leaf(directory: Path, names: list[str]) -> bytes:
    """Key and certificate for some names, as PEM, signed by the authority in `directory`."""
    x509, _, serialization, ec = _library()
    signer = serialization.load_pem_private_key((directory / _FILES[0]).read_bytes(), None)
    key = ec.generate_private_key(ec.SECP256R1())
    alternatives = x509.SubjectAlternativeName([x509.DNSName(name) for name in names])
    builder = _builder(names[0], "Simulated web", key.public_key(), signer.public_key())
    certificate = _sign(builder.add_extension(alternatives, critical=False), signer)
    return _pem(key) + certificate.public_bytes(serialization.Encoding.PEM)


def _context(leaf: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(leaf)
    context.num_tickets = 0  # after a polite delay no client resumes a session
    # The client chooses the cipher, as with nginx and Apache unless somebody changed that. OpenSSL
    # would choose AES-256 with SHA-384, which costs a client 20 us more a handshake.
    context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE
    context.set_alpn_protocols(["http/1.1"])
    return context


def server_context(directory: Path, *, verifiable: bool) -> ssl.SSLContext:
    """The context that a server process uses for all connections."""
    context = _context(directory / _FILES[1])
    if verifiable:
        context.sni_callback = _per_domain(directory)
    return context


def _per_domain(
    directory: Path,
) -> Callable[[ssl.SSLObject, str, ssl.SSLContext], None]:
    """Chooses the leaf of the domain that a client asks for, and makes it at the first time."""
    contexts: dict[str, ssl.SSLContext] = {}

    def choose(connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        if not name:
            return
        domain = registrable(name)
        if domain not in contexts:
            if len(contexts) >= _CACHED_CONTEXTS:
                contexts.clear()
            with tempfile.NamedTemporaryFile(dir=directory) as file:
                file.write(make_leaf(directory, [domain, "*." + domain]))
                file.flush()
                contexts[domain] = _context(Path(file.name))
        connection.context = contexts[domain]

    return choose
