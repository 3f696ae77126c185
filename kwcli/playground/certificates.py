"""A folder in, PEM files for TLS listeners and their clients out: one authority, one broker, one client."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

__all__ = ["make_certificates"]

_NAMES: Final = {"broker": "localhost", "client": "client"}
_ADDRESSES: Final = ("127.0.0.1", "::1")
_YEARS: Final = timedelta(days=3650)
_SKEW: Final = timedelta(days=1)  # a clock that is behind ours


def make_certificates(folder: Path) -> None:
    """Write ca.pem, broker.pem and client.pem (PKCS#8 key, certificate and authority in one file each) into `folder`.

    The parts stand beside them as NAME.key and NAME.crt. Both certificates are good for localhost, 127.0.0.1 and ::1.
    """
    folder.mkdir(parents=True, exist_ok=True)
    authority_key = ec.generate_private_key(ec.SECP256R1())
    issuer = _name("kw-ca")
    authority = _certificate(issuer, authority_key, issuer, authority_key, authority=True)
    _write(folder / "ca.key", _key_pem(authority_key))
    _write(folder / "ca.pem", authority.public_bytes(Encoding.PEM))
    for name, subject in _NAMES.items():
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _certificate(_name(subject), key, issuer, authority_key, authority=False)
        parts = [_key_pem(key), certificate.public_bytes(Encoding.PEM), authority.public_bytes(Encoding.PEM)]
        _write(folder / f"{name}.key", parts[0])
        _write(folder / f"{name}.crt", parts[1])
        _write(folder / f"{name}.pem", b"".join(parts))


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _certificate(
    subject: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Name,
    signer: ec.EllipticCurvePrivateKey,
    *,
    authority: bool,
) -> x509.Certificate:
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now - _SKEW).not_valid_after(now + _YEARS)
    builder = builder.add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
    builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    builder = builder.add_extension(identifier, critical=False)
    builder = builder.add_extension(_usage(authority), critical=True)
    if not authority:
        places = [x509.DNSName("localhost"), *(x509.IPAddress(ip_address(text)) for text in _ADDRESSES)]
        builder = builder.add_extension(x509.SubjectAlternativeName(places), critical=False)
        both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = builder.add_extension(x509.ExtendedKeyUsage(both), critical=False)
    return builder.sign(signer, SHA256())


def _usage(authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _write(path: Path, data: bytes) -> None:
    """Only its owner may read it: there are keys among them."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
