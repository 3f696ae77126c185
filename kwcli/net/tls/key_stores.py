"""Key and trust stores in (PEM, JKS, PKCS 12), certificates and keys in PEM out, as OpenSSL takes them.

The kinds are told apart by their first bytes, never by a file's name. A store's password opens a PKCS12 or JKS file, a
key's password the key in a JKS file or in PEM text; where only one of the two is given it serves for both.
"""

from __future__ import annotations

import os
from typing import Final

from decoders.named_tuple import NamedTuple
from kwcli.net.config.client_config import KeyStoreFile
from kwcli.net.tls.read_pem_and_jks import Jks, StoreError, find_pem_blocks, format_pem, read_jks
from kwcli.run_environment import Exit, Failure

# First bytes and limits


_JKS: Final = b"\xfe\xed\xfe\xed"
_JCEKS: Final = b"\xce\xce\xce\xce"
_SEQUENCE: Final = b"\x30"  # how DER begins, and so PKCS12
# No store is as large; a device given by mistake would be endless.
_MOST_BYTES: Final = 16 * 1024 * 1024


class Identity(NamedTuple):
    """PEM text of certificates and of a key (None where there is none), and the password that locks the key."""

    certificates: str
    key: str | None = None
    password: str | None = None


def read_trusted_certificates(store: KeyStoreFile) -> str:
    """The certificates that a store trusts, as PEM. Failure (usage) says what is wrong with it."""
    if store.path is not None and os.path.isdir(store.path):
        return _read_folder(store)
    found = _read_store_file(store, "trust store", "ssl.truststore.password")
    if not found.certificates:
        raise Failure(f"{_format_store_name(store, 'trust store')} has no certificate in it", Exit.USAGE)
    return found.certificates


def _read_folder(store: KeyStoreFile) -> str:
    """The certificates of all PEM files in a folder, as librdkafka takes one."""
    texts = []
    for entry in sorted(os.scandir(store.path), key=lambda entry: entry.name):
        if entry.is_file():
            text = _read_content(KeyStoreFile(entry.path), "trust store").decode("utf-8", "replace")
            texts += [block.text for block in find_pem_blocks(text) if block.is_certificate]
    if not texts:
        raise Failure(
            f"{_format_store_name(store, 'trust store')}: no file in this folder has a certificate in PEM", Exit.USAGE
        )
    return "".join(texts)


def read_identity(certificate: KeyStoreFile, key: KeyStoreFile | None) -> Identity:
    """A client's certificate chain and key, from one store or from two. Failure (usage) says what is wrong."""
    own = _read_store_file(certificate, "key store" if key is None else "certificate", "ssl.keystore.password")
    other = own if key is None else _read_store_file(key, "key", "ssl.key.password")
    if not own.certificates:
        raise Failure(f"{_format_store_name(certificate, 'key store')} has no certificate in it", Exit.USAGE)
    if other.key is None:
        remedy = "; name it by -X ssl.key.location=FILE" if key is None else ""
        raise Failure(f"{_format_store_name(key or certificate, 'key store')} has no key in it{remedy}", Exit.USAGE)
    return Identity(own.certificates, other.key, other.password)


def _format_store_name(store: KeyStoreFile, store_kind: str) -> str:
    return f"{store_kind} {store.path}" if store.path is not None else f"the {store_kind} given as text"


def _read_store_file(store: KeyStoreFile, store_kind: str, password: str) -> Identity:
    if store.pem is not None:
        return _read_pem(store.pem, store, store_kind)
    content = _read_content(store, store_kind)
    if _is_certificate(content):
        return Identity(format_pem("CERTIFICATE", [content]))
    if not content.startswith((_JKS, _JCEKS, _SEQUENCE)):
        return _read_pem(content.decode("utf-8", "replace"), store, store_kind)

    try:
        found = _read_store(content, store, with_key=store_kind != "trust store")
    except StoreError as error:
        name = {"store": password, "key": "ssl.key.password", "": ""}[error.password]
        remedy = f"; give it by -X {name}=…" if name else ""
        raise Failure(f"{_format_store_name(store, store_kind)}: {error}{remedy}", Exit.USAGE) from None
    chosen = found.trusted or found.chain if store_kind == "trust store" else found.chain
    certificates = format_pem("CERTIFICATE", chosen)
    return Identity(certificates, None if found.key is None else format_pem("PRIVATE KEY", [found.key]))


def _is_certificate(content: bytes) -> bool:
    """Whether this is one certificate in DER: in it a sequence comes first, in a PKCS12 store a number."""
    if not content.startswith(_SEQUENCE) or len(content) < 8:
        return False
    size_bytes = content[1] & 0x7F if content[1] & 0x80 else 0
    return content[2 + size_bytes : 3 + size_bytes] == _SEQUENCE


def _read_store(content: bytes, store: KeyStoreFile, *, with_key: bool) -> Jks:
    if content.startswith(_JKS):
        return read_jks(content, store.password, store.key_password, with_key=with_key)
    if content.startswith(_JCEKS):
        raise StoreError("kw reads no JCEKS; convert it: keytool -importkeystore … -deststoretype PKCS12")

    return read_pkcs12(content, store.password or store.key_password)


def _read_content(store: KeyStoreFile, store_kind: str) -> bytes:
    try:
        with open(store.path or "", "rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise Failure(f"{_format_store_name(store, store_kind)} cannot be read: {error.strerror}", Exit.USAGE) from None
    if len(content) > _MOST_BYTES:
        raise Failure(f"{_format_store_name(store, store_kind)} is larger than any store", Exit.USAGE)
    return content


def _read_pem(text: str, store: KeyStoreFile, store_kind: str) -> Identity:
    found = list(find_pem_blocks(text))
    if not any(block.is_certificate or block.is_key for block in found):
        kinds = "PEM, PKCS12 or JKS" if store.path is not None else "PEM"
        raise Failure(
            f"{_format_store_name(store, store_kind)} holds neither certificates nor a key as {kinds}", Exit.USAGE
        )
    key = next((block for block in found if block.is_key), None)
    password = store.key_password or store.password
    if key is not None and key.is_locked and password is None and store_kind != "trust store":
        raise Failure(
            f"the key in {_format_store_name(store, store_kind)} is locked; give -X ssl.key.password=…", Exit.USAGE
        )
    certificates = "".join(block.text for block in found if block.is_certificate)
    return Identity(certificates, key.text if key else None, password if key and key.is_locked else None)


def read_pkcs12(content: bytes, password: str | None) -> Jks:
    """The contents of a PKCS12 store: a key with its chain, else all certificates as trusted. Raises StoreError."""
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, pkcs12

    try:
        store = pkcs12.load_pkcs12(content, None if password is None else password.encode())
    except ValueError as error:
        if "password" not in str(error).lower():
            raise StoreError(f"it is damaged or of an unknown kind ({error})") from None
        needed = "it needs a password" if password is None else "the password is wrong, or the store is damaged"
        raise StoreError(needed, password="store") from None
    except Exception as error:  # an algorithm that OpenSSL was built without
        raise StoreError(f"it cannot be read here ({error})") from None
    others = [each.certificate.public_bytes(Encoding.DER) for each in store.additional_certs]
    if store.key is None:
        return Jks(others, [], None)
    own = [store.cert.certificate.public_bytes(Encoding.DER)] if store.cert else []
    return Jks([], [*own, *others], store.key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption()))


def encrypt_key_with_other_password(key: str, password: str | None, new_password: str) -> str:
    """A PEM key, perhaps locked with `password`, locked with `new_password` instead. Raises StoreError."""
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        Encoding,
        PrivateFormat,
        load_pem_private_key,
    )

    try:
        loaded = load_pem_private_key(key.encode(), None if password is None else password.encode())
    except (ValueError, TypeError) as error:
        raise StoreError(f"the key cannot be read ({error})", password="key") from None
    text = loaded.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(new_password.encode()))
    return text.decode()
