"""PEM text and JKS bytes in, their blocks, certificates and keys out, with the standard library alone."""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import Final, Literal

from decoders.named_tuple import NamedTuple

_BLOCK: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)
_WIDTH: Final = 64


class Block(NamedTuple):
    """A PEM block: its label (`CERTIFICATE`, `PRIVATE KEY`, …) and the text of the whole block."""

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
        """Whether the block is a key that takes a password to be read."""
        return self.label == "ENCRYPTED PRIVATE KEY" or "Proc-Type: 4,ENCRYPTED" in self.text


def find_pem_blocks(text: str) -> Iterator[Block]:
    """Every block in the text, broken into lines."""
    for match in _BLOCK.finditer(text):
        label, inside = match[1], match[2]
        if ":" in inside:  # the headers of a key locked in OpenSSL's old way: their lines count
            body = inside.replace("\\n", "\n").strip("\n")
        else:
            letters = "".join(inside.replace("\\n", " ").split())
            body = "\n".join(letters[at : at + _WIDTH] for at in range(0, len(letters), _WIDTH))
        yield Block(label, f"-----BEGIN {label}-----\n{body}\n-----END {label}-----\n")


def format_pem(label: str, contents: Iterable[bytes]) -> str:
    """DER contents as PEM blocks with one label."""
    found = []
    for content in contents:
        letters = b64encode(content).decode()
        found.append(f"-----BEGIN {label}-----{letters}-----END {label}-----")
    return "".join(block.text for text in found for block in find_pem_blocks(text))


# Java's key stores


_MAGIC_SIZE: Final = 4
_KEY, _CERTIFICATE = 1, 2
_DIGEST_SIZE: Final = 20
_WHITENER: Final = b"Mighty Aphrodite"
# 1.3.6.1.4.1.42.2.17.1.1: how Sun's KeyProtector hides a key.
_SUN: Final = bytes.fromhex("060a2b060104012a02110101")
# The parameters of this method: Java writes a NULL, or since late 2026 (17.0.21) none at all.
_NULL: Final = b"\x05\0"


class StoreError(ValueError):
    """The store cannot be read; the message says why. `password` names the password whose value may be at fault."""

    def __init__(self, text: str, *, password: Literal["", "store", "key"] = "") -> None:
        super().__init__(text)
        self.password = password


class Jks(NamedTuple):
    """The contents of a store: trusted certificates; chain and PKCS#8 of the first key entry (None: no key)."""

    trusted: list[bytes]
    chain: list[bytes]
    key: bytes | None


def read_jks(content: bytes, password: str | None, key_password: str | None, *, with_key: bool = True) -> Jks:
    """The contents of a JKS store. Without a password trusted certificates are taken unchecked, as Java does.

    Java made such stores by default until release 8, and many are in use. The format is Sun's own and has been frozen
    since 1998: a list of entries, a SHA-1 over it all and the password, keys hidden by a stream of SHA-1 values. It is
    read here because the one library that does (pyjks) has had no release since 2020 and brings a second crypto library
    and an extension without wheels along; the standard library has all it takes.

    Raises StoreError.
    """
    try:
        return _read_store(content, password, key_password, with_key)
    except IndexError:
        raise StoreError("it is cut off or damaged") from None


def _read_store(content: bytes, password: str | None, key_password: str | None, with_key: bool) -> Jks:
    if password is not None:
        signed = hashlib.sha1(
            _encode_utf16(password) + _WHITENER + content[:-_DIGEST_SIZE], usedforsecurity=False
        ).digest()
        if not hmac.compare_digest(signed, content[-_DIGEST_SIZE:]):
            raise StoreError("the password is wrong, or the store is damaged", password="store")
    reader = _SizedReader(content[:-_DIGEST_SIZE], _MAGIC_SIZE)
    version = reader.take_number(4)
    if version not in (1, 2):
        raise StoreError(f"it has the unknown version {version}")
    trusted: list[bytes] = []
    chain: list[bytes] = []
    hidden: bytes | None = None
    for _ in range(reader.take_number(4)):
        tag = reader.take_number(4)
        reader.take_sized_bytes(2)  # alias
        reader.take_bytes(8)  # time
        if tag == _CERTIFICATE:
            trusted.append(reader.take_certificate(version))
        elif tag == _KEY:
            entry = reader.take_sized_bytes(4)
            certificates = [reader.take_certificate(version) for _ in range(reader.take_number(4))]
            if hidden is None:
                hidden, chain = entry, certificates
        else:
            raise StoreError(f"it has an entry of the unknown kind {tag}")
    key = _decrypt_key(hidden, key_password or password) if hidden is not None and with_key else None
    return Jks(trusted, chain, key)


class _SizedReader:
    """A reader of sizes and contents, one after the other; IndexError past the end."""

    def __init__(self, content: bytes, at: int) -> None:
        self._content = content
        self._at = at

    def take_bytes(self, size: int) -> bytes:
        if size > len(self._content) - self._at:
            raise IndexError
        self._at += size
        return self._content[self._at - size : self._at]

    def take_number(self, size: int) -> int:
        return int.from_bytes(self.take_bytes(size), "big")

    def take_sized_bytes(self, width: int) -> bytes:
        return self.take_bytes(self.take_number(width))

    def take_certificate(self, version: int) -> bytes:
        if version == 2:
            kind = self.take_sized_bytes(2)
            if kind != b"X.509":
                raise StoreError(f"it has a certificate of kind {kind!r}")
        return self.take_sized_bytes(4)


def _decrypt_key(hidden: bytes, password: str | None) -> bytes:
    """The key inside an EncryptedPrivateKeyInfo that Sun's KeyProtector made: salt, key XOR stream, check."""
    if password is None:
        raise StoreError("its key needs a password", password="key")
    at = hidden.find(_SUN, 0, 32)
    if at < 0:
        raise StoreError("its key is encrypted by a method that kw does not know")
    at += len(_SUN)
    if hidden.startswith(_NULL, at):
        at += len(_NULL)
    secret = _read_der_octet_string(hidden, at)
    if len(secret) < 2 * _DIGEST_SIZE:
        raise IndexError
    salt, covered, check = secret[:_DIGEST_SIZE], secret[_DIGEST_SIZE:-_DIGEST_SIZE], secret[-_DIGEST_SIZE:]
    word = _encode_utf16(password)
    stream = bytearray()
    turn = salt
    while len(stream) < len(covered):
        turn = hashlib.sha1(word + turn, usedforsecurity=False).digest()
        stream += turn
    key = bytes(a ^ b for a, b in zip(covered, stream, strict=False))
    if not hmac.compare_digest(hashlib.sha1(word + key, usedforsecurity=False).digest(), check):
        raise StoreError("the password of its key is wrong", password="key")
    return key


def _read_der_octet_string(der: bytes, at: int) -> bytes:
    """The OCTET STRING at `at`."""
    reader = _SizedReader(der, at)
    if reader.take_number(1) != 4:
        raise IndexError
    size = reader.take_number(1)
    if size & 0x80:
        size = reader.take_number(size & 0x7F)
    return reader.take_bytes(size)


def _encode_utf16(password: str) -> bytes:
    return password.encode("utf-16-be", "surrogatepass")
