"""Key and trust stores in (PEM, JKS, PKCS 12), certificates and keys in PEM out."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import Final, Literal, NamedTuple

from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)

from kwcli.env import Exit, Failure
from kwcli.net.config.client_config import KeyStoreFile

_BLOCK: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)
_WIDTH: Final = 64


class Block(NamedTuple):
    """`CERTIFICATE`, `PRIVATE KEY`, … and the text of the whole block."""

    label: str
    text: str

    @property
    def is_key(self) -> bool:
        return self.label.endswith("PRIVATE KEY")

    @property
    def is_certificate(self) -> bool:
        return self.label.endswith("CERTIFICATE")

    @property
    def is_locked(self) -> bool:
        """Whether it takes a password to read the key."""
        return self.label == "ENCRYPTED PRIVATE KEY" or "Proc-Type: 4,ENCRYPTED" in self.text


def blocks(text: str) -> Iterator[Block]:
    """Every block in the text, broken into lines."""
    for match in _BLOCK.finditer(text):
        label, inside = match[1], match[2]
        if ":" in inside:  # the headers of a key locked in OpenSSL's old way: their lines count
            body = inside.replace("\\n", "\n").strip("\n")
        else:
            letters = "".join(inside.replace("\\n", " ").split())
            body = "\n".join(letters[at : at + _WIDTH] for at in range(0, len(letters), _WIDTH))
        yield Block(label, f"-----BEGIN {label}-----\n{body}\n-----END {label}-----\n")


def written(label: str, contents: Iterable[bytes]) -> str:
    """DER as blocks of one kind."""
    found = []
    for content in contents:
        letters = b64encode(content).decode()
        found.append(f"-----BEGIN {label}-----{letters}-----END {label}-----")
    return "".join(block.text for text in found for block in blocks(text))


# The bytes of a JKS store in, its certificates and its first key out (DER).
#
# Java made such stores by default until release 8, and many are in use. The format is Sun's own and has been frozen
# since 1998: a list of entries, a SHA-1 over it all and the password, keys hidden by a stream of SHA-1 values. It is
# read here because the one library that does (pyjks) has had no release since 2020 and brings a second crypto library
# and an extension without wheels along; the standard library has all it takes.


_MAGIC_SIZE: Final = 4
_KEY, _CERTIFICATE = 1, 2
_DIGEST_SIZE: Final = 20
_WHITENER: Final = b"Mighty Aphrodite"
# 1.3.6.1.4.1.42.2.17.1.1: how Sun's KeyProtector hides a key.
_SUN: Final = bytes.fromhex("060a2b060104012a02110101")


class StoreError(ValueError):
    """The store cannot be read; the message says why. `password` names the one that another value may help."""

    def __init__(self, text: str, *, password: Literal["", "store", "key"] = "") -> None:
        super().__init__(text)
        self.password = password


class Jks(NamedTuple):
    """Trusted certificates; the chain and the PKCS#8 of the first key entry (`key` None where there is none)."""

    trusted: list[bytes]
    chain: list[bytes]
    key: bytes | None


def read_jks(content: bytes, password: str | None, key_password: str | None, *, with_key: bool = True) -> Jks:
    """All that is in a store. Without a password trusted certificates are taken unchecked, as Java does.

    Raises StoreError.
    """
    try:
        return _read(content, password, key_password, with_key)
    except IndexError:
        raise StoreError("it is cut off or damaged") from None


def _read(content: bytes, password: str | None, key_password: str | None, with_key: bool) -> Jks:
    if password is not None:
        signed = hashlib.sha1(_utf16(password) + _WHITENER + content[:-_DIGEST_SIZE], usedforsecurity=False).digest()
        if not hmac.compare_digest(signed, content[-_DIGEST_SIZE:]):
            raise StoreError("the password is wrong, or the store is damaged", password="store")
    reader = _Reader(content[:-_DIGEST_SIZE], _MAGIC_SIZE)
    version = reader.number(4)
    if version not in (1, 2):
        raise StoreError(f"it has the unknown version {version}")
    trusted: list[bytes] = []
    chain: list[bytes] = []
    hidden: bytes | None = None
    for _ in range(reader.number(4)):
        tag = reader.number(4)
        reader.sized(2)  # alias
        reader.take(8)  # time
        if tag == _CERTIFICATE:
            trusted.append(reader.certificate(version))
        elif tag == _KEY:
            entry = reader.sized(4)
            certificates = [reader.certificate(version) for _ in range(reader.number(4))]
            if hidden is None:
                hidden, chain = entry, certificates
        else:
            raise StoreError(f"it has an entry of the unknown kind {tag}")
    key = _shown(hidden, key_password or password) if hidden is not None and with_key else None
    return Jks(trusted, chain, key)


class _Reader:
    """Sizes and contents, one after the other; IndexError past the end."""

    def __init__(self, content: bytes, at: int) -> None:
        self._content = content
        self._at = at

    def take(self, size: int) -> bytes:
        if size > len(self._content) - self._at:
            raise IndexError
        self._at += size
        return self._content[self._at - size : self._at]

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def sized(self, width: int) -> bytes:
        return self.take(self.number(width))

    def certificate(self, version: int) -> bytes:
        if version == 2:
            kind = self.sized(2)
            if kind != b"X.509":
                raise StoreError(f"it has a certificate of kind {kind!r}")
        return self.sized(4)


def _shown(hidden: bytes, password: str | None) -> bytes:
    """The key inside an EncryptedPrivateKeyInfo that Sun's KeyProtector made: salt, key XOR stream, check."""
    if password is None:
        raise StoreError("its key needs a password", password="key")
    at = hidden.find(_SUN, 0, 32)
    if at < 0:
        raise StoreError("its key is hidden in a way that only its maker knows")
    at += len(_SUN) + 2  # and the NULL of its parameters
    secret = _octets(hidden, at)
    if len(secret) < 2 * _DIGEST_SIZE:
        raise IndexError
    salt, covered, check = secret[:_DIGEST_SIZE], secret[_DIGEST_SIZE:-_DIGEST_SIZE], secret[-_DIGEST_SIZE:]
    word = _utf16(password)
    stream = bytearray()
    turn = salt
    while len(stream) < len(covered):
        turn = hashlib.sha1(word + turn, usedforsecurity=False).digest()
        stream += turn
    key = bytes(a ^ b for a, b in zip(covered, stream, strict=False))
    if not hmac.compare_digest(hashlib.sha1(word + key, usedforsecurity=False).digest(), check):
        raise StoreError("the password of its key is wrong", password="key")
    return key


def _octets(der: bytes, at: int) -> bytes:
    """The OCTET STRING at `at`."""
    reader = _Reader(der, at)
    if reader.number(1) != 4:
        raise IndexError
    size = reader.number(1)
    if size & 0x80:
        size = reader.number(size & 0x7F)
    return reader.take(size)


def _utf16(password: str) -> bytes:
    return password.encode("utf-16-be", "surrogatepass")


# The bytes of a PKCS12 store in, its certificates and its key out (DER); by `cryptography`, loaded here alone.


def read_pkcs12(content: bytes, password: str | None) -> Jks:
    """All that is in a store: with a key its chain, else every certificate as a trusted one. Raises StoreError."""
    try:
        store = pkcs12.load_pkcs12(content, None if password is None else password.encode())
    except ValueError as error:
        if "password" not in str(error).lower():
            raise StoreError(f"it is damaged or of an unknown kind ({error})") from None
        needed = "it needs a password" if password is None else "the password is wrong, or the store is damaged"
        raise StoreError(needed, password="store") from None
    except Exception as error:  # what OpenSSL was built without
        raise StoreError(f"it cannot be read here ({error})") from None
    others = [each.certificate.public_bytes(Encoding.DER) for each in store.additional_certs]
    if store.key is None:
        return Jks(others, [], None)
    own = [store.cert.certificate.public_bytes(Encoding.DER)] if store.cert else []
    return Jks([], [*own, *others], store.key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption()))


def locked(key: str, password: str | None, new_password: str) -> str:
    """A PEM key, perhaps locked with `password`, as one that is locked with another. Raises StoreError."""
    try:
        loaded = load_pem_private_key(key.encode(), None if password is None else password.encode())
    except (ValueError, TypeError) as error:
        raise StoreError(f"the key cannot be read ({error})", password="key") from None
    text = loaded.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(new_password.encode()))
    return text.decode()


# Stores of certificates and keys in, the PEM text that OpenSSL takes out.
#
# PEM, PKCS12 and JKS are told apart by their first bytes, never by a file's name. A store's password opens a PKCS12 or
# JKS file, a key's password the key in a JKS file or in PEM text; where only one of the two is given it serves for
# both.


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


def trusted(store: KeyStoreFile) -> str:
    """The certificates that a store trusts, as PEM. Failure (usage) says what is wrong with it."""
    if store.path is not None and os.path.isdir(store.path):
        return _folder(store)
    found = _opened(store, "trust store", "ssl.truststore.password")
    if not found.certificates:
        raise Failure(f"{_name(store, 'trust store')} has no certificate in it", Exit.USAGE)
    return found.certificates


def _folder(store: KeyStoreFile) -> str:
    """The certificates of all PEM files in a folder, as librdkafka takes one."""
    texts = []
    for entry in sorted(os.scandir(store.path), key=lambda entry: entry.name):
        if entry.is_file():
            text = _content(KeyStoreFile(entry.path), "trust store").decode("utf-8", "replace")
            texts += [block.text for block in blocks(text) if block.is_certificate]
    if not texts:
        raise Failure(f"{_name(store, 'trust store')}: no file in this folder has a certificate in PEM", Exit.USAGE)
    return "".join(texts)


def identity(certificate: KeyStoreFile, key: KeyStoreFile | None) -> Identity:
    """A client's certificate chain and key, from one store or from two. Failure (usage) says what is wrong."""
    own = _opened(certificate, "key store" if key is None else "certificate", "ssl.keystore.password")
    other = own if key is None else _opened(key, "key", "ssl.key.password")
    if not own.certificates:
        raise Failure(f"{_name(certificate, 'key store')} has no certificate in it", Exit.USAGE)
    if other.key is None:
        remedy = "; name it by -X ssl.key.location=FILE" if key is None else ""
        raise Failure(f"{_name(key or certificate, 'key store')} has no key in it{remedy}", Exit.USAGE)
    return Identity(own.certificates, other.key, other.password)


def _name(store: KeyStoreFile, what: str) -> str:
    return f"{what} {store.path}" if store.path is not None else f"the {what} given as text"


def _opened(store: KeyStoreFile, what: str, password: str) -> Identity:
    if store.pem is not None:
        return _pem(store.pem, store, what)
    content = _content(store, what)
    if _is_certificate(content):
        return Identity(written("CERTIFICATE", [content]))
    if not content.startswith((_JKS, _JCEKS, _SEQUENCE)):
        return _pem(content.decode("utf-8", "replace"), store, what)

    try:
        found = _stores_read(content, store, with_key=what != "trust store")
    except StoreError as error:
        name = {"store": password, "key": "ssl.key.password", "": ""}[error.password]
        remedy = f"; give it by -X {name}=…" if name else ""
        raise Failure(f"{_name(store, what)}: {error}{remedy}", Exit.USAGE) from None
    chosen = found.trusted or found.chain if what == "trust store" else found.chain
    certificates = written("CERTIFICATE", chosen)
    return Identity(certificates, None if found.key is None else written("PRIVATE KEY", [found.key]))


def _is_certificate(content: bytes) -> bool:
    """Whether this is one certificate in DER: in it a sequence comes first, in a PKCS12 store a number."""
    if not content.startswith(_SEQUENCE) or len(content) < 8:
        return False
    size_bytes = content[1] & 0x7F if content[1] & 0x80 else 0
    return content[2 + size_bytes : 3 + size_bytes] == _SEQUENCE


def _stores_read(content: bytes, store: KeyStoreFile, *, with_key: bool) -> Jks:

    if content.startswith(_JKS):
        return read_jks(content, store.password, store.key_password, with_key=with_key)
    if content.startswith(_JCEKS):
        raise StoreError("kw reads no JCEKS; convert it: keytool -importkeystore … -deststoretype PKCS12")

    return read_pkcs12(content, store.password or store.key_password)


def _content(store: KeyStoreFile, what: str) -> bytes:
    try:
        with open(store.path or "", "rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise Failure(f"{_name(store, what)} cannot be read: {error.strerror}", Exit.USAGE) from None
    if len(content) > _MOST_BYTES:
        raise Failure(f"{_name(store, what)} is larger than any store", Exit.USAGE)
    return content


def _pem(text: str, store: KeyStoreFile, what: str) -> Identity:
    found = list(blocks(text))
    if not any(block.is_certificate or block.is_key for block in found):
        kinds = "PEM, PKCS12 or JKS" if store.path is not None else "PEM"
        raise Failure(f"{_name(store, what)} holds neither certificates nor a key as {kinds}", Exit.USAGE)
    key = next((block for block in found if block.is_key), None)
    password = store.key_password or store.password
    if key is not None and key.is_locked and password is None and what != "trust store":
        raise Failure(f"the key in {_name(store, what)} is locked; give -X ssl.key.password=…", Exit.USAGE)
    certificates = "".join(block.text for block in found if block.is_certificate)
    return Identity(certificates, key.text if key else None, password if key and key.is_locked else None)
