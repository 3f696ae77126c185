"""An authority, a broker and a client, in every kind of store: made by cryptography and keytool; certificates alone."""

from __future__ import annotations

import os
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, Literal

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.hashes import SHA1, SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import PBES, serialize_key_and_certificates
from cryptography.x509.oid import NameOID

from decoders.named_tuple import NamedTuple
from kwcli.pipeline.spark.find_java import find_java
from kwcli.playground.tls_certificates import write_tls_certificates

STORE, KEY = "store-secret", "key-secret"
# A store whose password is empty: only this program makes one, so without it there is none.
OPEN_STORE: Final = "open.p12"


class SelfSigned(NamedTuple):
    """A key (PKCS#8 in PEM) and a certificate that it signed itself (PEM and DER)."""

    key: bytes
    pem: bytes
    der: bytes


def make_stores(folder: Path, *, certificates: bool = True) -> None:
    """Make files in `folder`: ca.pem, broker.pem, client.pem (key and chain), and the other stores that tests name.

    `certificates` False: the PEM files are there already. OPEN_STORE is made where the program openssl is.
    """
    if certificates:
        write_tls_certificates(folder)
    key = load_pem_private_key((folder / "client.key").read_bytes(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    locked = BestAvailableEncryption(KEY.encode())
    (folder / "locked.key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, locked))
    (folder / "old-locked.key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, locked))
    own, authority = x509.load_pem_x509_certificates((folder / "client.pem").read_bytes())
    legacy = PrivateFormat.PKCS12.encryption_builder().kdf_rounds(2048).hmac_hash(SHA1())
    old = legacy.key_cert_algorithm(PBES.PBESv1SHA1And3KeyTripleDESCBC).build(STORE.encode())
    for name, lock in (("client.p12", BestAvailableEncryption(STORE.encode())), ("old.p12", old)):
        (folder / name).write_bytes(serialize_key_and_certificates(b"client", key, own, [authority], lock))
    if shutil.which("openssl"):
        _run(folder, "openssl", "pkcs12", "-export", "-in", "client.pem", "-passout", "pass:", "-out", OPEN_STORE)
    keytool = str(find_java(os.environ).with_name("keytool"))
    imported = ["-noprompt", "-alias", "ca", "-file", "ca.pem", "-storepass", STORE]
    for kind in ("jks", "pkcs12"):
        _run(folder, keytool, "-importcert", *imported, "-storetype", kind, "-keystore", f"trust.{kind}")
    source = ["-srckeystore", "client.p12", "-srcstoretype", "pkcs12", "-srcstorepass", STORE, "-srcalias", "client"]
    target = ["-deststorepass", STORE, "-destkeypass", KEY, "-deststoretype", "jks", "-destkeystore", "client.jks"]
    _run(folder, keytool, "-importkeystore", "-noprompt", *source, *target)
    target = ["-deststorepass", STORE, "-deststoretype", "jceks", "-destkeystore", "client.jceks"]
    _run(folder, keytool, "-importkeystore", "-noprompt", *source, *target)


def _run(folder: Path, *words: str) -> None:
    subprocess.run(words, cwd=folder, check=True, capture_output=True)


def make_self_signed(name: str, kind: Literal["ec", "rsa"] = "ec") -> SelfSigned:
    """A certificate for O=Example, CN=`name`."""
    key = ec.generate_private_key(ec.SECP256R1()) if kind == "ec" else rsa.generate_private_key(65537, 2048)
    parts = ((NameOID.ORGANIZATION_NAME, "Example"), (NameOID.COMMON_NAME, name))
    subject = x509.Name([x509.NameAttribute(oid, text) for oid, text in parts])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=30))
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    made = builder.sign(key, SHA256())
    pem, der = (made.public_bytes(encoding) for encoding in (Encoding.PEM, Encoding.DER))
    return SelfSigned(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), pem, der)
