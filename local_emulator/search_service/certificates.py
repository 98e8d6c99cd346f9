"""Make a certificate for the loopback interface, signed by itself, that a client is told to trust."""

import ipaddress
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LASTS = timedelta(days=825)  # the longest that clients of Apple accept
HOSTS = ("localhost", "127.0.0.1", "::1", "search")  # the last is a name for a service of docker compose


def write_certificate(folder: Path, hosts: tuple[str, ...] = HOSTS) -> tuple[Path, Path]:
    """Write `certificate.pem` and `key.pem` unless they are there and last; return their paths."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    if not (certificate.exists() and key.exists() and _lasts(certificate, hosts)):
        folder.mkdir(parents=True, exist_ok=True)
        made, secret = _make_certificate(hosts)
        descriptor = os.open(key, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(secret)
        certificate.write_bytes(made)
    return certificate, key


def _lasts(certificate: Path, hosts: tuple[str, ...]) -> bool:
    """Tell whether a certificate names the hosts and is good for another day."""
    held = x509.load_pem_x509_certificate(certificate.read_bytes())
    names = held.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    named = {str(name.value) for name in names}
    return set(hosts) <= named and held.not_valid_after_utc > datetime.now(UTC) + timedelta(days=1)


def _make_certificate(hosts: tuple[str, ...]) -> tuple[bytes, bytes]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "azure-ai-search-emulator")])
    now = datetime.now(UTC)
    usages = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + LASTS)
        .add_extension(x509.SubjectAlternativeName([_make_name(host) for host in hosts]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(usages, critical=False)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return made.public_bytes(serialization.Encoding.PEM), secret


def _make_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
