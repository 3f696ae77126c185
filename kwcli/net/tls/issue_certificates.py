"""Names in, keys and X.509 certificates out: authorities, and certificates for brokers, proxies and clients."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from decoders.named_tuple import NamedTuple

SKEW: Final = timedelta(days=1)  # for machines whose clock is behind ours
TEN_YEARS: Final = timedelta(days=3650)
_COMMON_NAME_MAX: Final = 64  # X.520


class Issued(NamedTuple):
    """A certificate and the key that it is for."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def key_pem(self) -> bytes:
        """The key as PKCS#8 in PEM, not encrypted."""
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    @property
    def certificate_pem(self) -> bytes:
        return self.certificate.public_bytes(Encoding.PEM)


def issue_authority(name: str, lifetime: timedelta = TEN_YEARS) -> Issued:
    """A new authority, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _build_subject_name(name)
    builder = _begin_certificate(subject, key, subject, key, lifetime)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    builder = builder.add_extension(_build_key_usage(authority=True), critical=True)
    return Issued(key, builder.sign(key, SHA256()))


def issue_leaf(issuer: Issued, name: str, places: Sequence[str], lifetime: timedelta = TEN_YEARS) -> Issued:
    """A new certificate for servers and clients, good for `places`: host names and IP addresses."""
    key = ec.generate_private_key(ec.SECP256R1())
    builder = _begin_certificate(_build_subject_name(name), key, issuer.certificate.subject, issuer.key, lifetime)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_build_key_usage(authority=False), critical=True)
    builder = builder.add_extension(
        x509.SubjectAlternativeName([_build_alternative_name(each) for each in places]), critical=False
    )
    both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    builder = builder.add_extension(x509.ExtendedKeyUsage(both), critical=False)
    return Issued(key, builder.sign(issuer.key, SHA256()))


def _begin_certificate(
    subject: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Name,
    signer: ec.EllipticCurvePrivateKey,
    lifetime: timedelta,
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now - SKEW).not_valid_after(now + lifetime)
    builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    return builder.add_extension(identifier, critical=False)


def _build_subject_name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common[:_COMMON_NAME_MAX])])


def _build_alternative_name(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(text))
    except ValueError:
        return x509.DNSName(text if text.isascii() else text.encode("idna").decode("ascii"))


def _build_key_usage(*, authority: bool) -> x509.KeyUsage:
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
