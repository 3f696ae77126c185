"""What authorities and certificates that kw issues may be used for, for whom, and how long."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import Final

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kwcli.net.tls.issue_certificates import Issued, issue_authority, issue_leaf

AUTHORITY: Final = issue_authority("an authority", timedelta(days=9))
LEAF: Final = issue_leaf(AUTHORITY, "n" * 70, ["kafka-1", "münchen.example", "192.0.2.7", "::1"], timedelta(days=3))
USES: Final = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
)


@pytest.mark.parametrize(
    ("issued", "authority", "uses"),
    [(AUTHORITY, True, {"key_cert_sign", "crl_sign"}), (LEAF, False, {"digital_signature"})],
    ids=["authority", "leaf"],
)
def test_what_a_key_may_be_used_for(issued: Issued, authority: bool, uses: set[str]) -> None:
    extensions = issued.certificate.extensions
    found = extensions.get_extension_for_class(x509.KeyUsage)
    assert {use for use in USES if getattr(found.value, use)} == uses
    basic = extensions.get_extension_for_class(x509.BasicConstraints)
    assert (basic.value.ca, basic.value.path_length) == (authority, None)
    assert found.critical
    assert basic.critical
    # Clients that cannot read these must not refuse the certificate for them.
    others = [each for each in extensions if not isinstance(each.value, x509.KeyUsage | x509.BasicConstraints)]
    assert others
    assert not any(each.critical for each in others)


def test_a_leaf_is_for_servers_and_clients_at_its_places() -> None:
    extensions = LEAF.certificate.extensions
    uses = extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(uses) == [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    places = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert places.get_values_for_type(x509.DNSName) == ["kafka-1", "xn--mnchen-3ya.example"]
    assert places.get_values_for_type(x509.IPAddress) == [ip_address("192.0.2.7"), ip_address("::1")]
    names = LEAF.certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    assert [name.value for name in names] == ["n" * 64]  # X.520 has no longer ones


def test_an_authority_signs_itself_and_its_leaves() -> None:
    for issued in (AUTHORITY, LEAF):
        issued.certificate.verify_directly_issued_by(AUTHORITY.certificate)
        assert issued.certificate.public_key() == issued.key.public_key()
        key = load_pem_private_key(issued.key_pem, None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        assert key.public_key() == issued.key.public_key()
        assert x509.load_pem_x509_certificate(issued.certificate_pem) == issued.certificate
        ours = issued.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
        theirs = issued.certificate.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value
        assert ours == x509.SubjectKeyIdentifier.from_public_key(issued.key.public_key())
        assert theirs.key_identifier == x509.SubjectKeyIdentifier.from_public_key(AUTHORITY.key.public_key()).digest
    assert AUTHORITY.certificate.serial_number != LEAF.certificate.serial_number


@pytest.mark.parametrize(("issued", "days"), [(AUTHORITY, 9), (LEAF, 3)], ids=["authority", "leaf"])
def test_a_certificate_is_valid_at_once_and_as_long_as_asked_for(issued: Issued, days: int) -> None:
    now = datetime.now(UTC)
    begin, end = issued.certificate.not_valid_before_utc, issued.certificate.not_valid_after_utc
    assert begin < now - timedelta(minutes=1)  # clocks of others may be behind
    assert now + timedelta(days=days - 1) < end < now + timedelta(days=days + 1)
