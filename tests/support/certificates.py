"""Certificates as a small CA would give them, made anew for each test."""

import ipaddress
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

_HOST = x509.SubjectAlternativeName([
    x509.DNSName("localhost"),
    x509.IPAddress(ipaddress.IPv4Address("127.0.0.1")),
    x509.IPAddress(ipaddress.IPv4Address("0.0.0.0")),  # where a control plane on every address says it listens
])


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, in files."""

    certificate: Path
    key: Path
    serial: int

    def settings(self) -> dict[str, Path]:
        """The settings of a control plane that serves with it."""
        return {"TLS_CERTIFICATE": self.certificate, "TLS_KEY": self.key}


class Authority:
    """A CA with its certificate in a file."""

    def __init__(self, folder: Path, name: str = "ca") -> None:
        self._folder = folder
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.file = folder / f"{name}.pem"
        self._certificate = self._signed(self._name, self._key.public_key(), is_ca=True)
        self.file.write_bytes(self._certificate.public_bytes(Encoding.PEM))

    def issue(self, name: str, *, password: bytes | None = None, lasts: timedelta = timedelta(hours=1)) -> Pair:
        """A certificate for this machine, in files of that name; what was there is replaced, the key first."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = self._signed(subject, key.public_key(), is_ca=False, lasts=lasts)
        sealing: KeySerializationEncryption = BestAvailableEncryption(password) if password else NoEncryption()
        pair = Pair(self._folder / f"{name}.pem", self._folder / f"{name}.key", certificate.serial_number)
        _replace(pair.key, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, sealing))
        _replace(pair.certificate, certificate.public_bytes(Encoding.PEM))
        return pair

    def trusting(self, shown: Pair | None = None, *, newest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> ssl.SSLContext:
        """What a client has that trusts this CA, and shows a certificate of its own if it has one."""
        context = ssl.create_default_context(cafile=self.file)
        context.minimum_version, context.maximum_version = ssl.TLSVersion.MINIMUM_SUPPORTED, newest
        if shown is not None:
            context.load_cert_chain(shown.certificate, shown.key)
        return context

    def _signed(
        self,
        subject: x509.Name,
        public: ec.EllipticCurvePublicKey,
        *,
        is_ca: bool,
        lasts: timedelta = timedelta(hours=1),
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = (
            x509
            .CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + lasts)
            .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .add_extension(issuer, critical=False)
        )
        if not is_ca:
            builder = builder.add_extension(_HOST, critical=False)
        return builder.sign(self._key, SHA256())


def _replace(path: Path, content: bytes) -> None:
    fresh = path.with_suffix(".new")
    fresh.write_bytes(content)
    fresh.chmod(0o600)
    fresh.replace(path)
