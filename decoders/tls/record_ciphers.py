"""Secrets in, record ciphers out: the key schedule of TLS 1.3, the key block of TLS 1.2, one class for each kind.

A cipher opens one record, given its number: `open(number, header, body)` gives (content type, bytes, size) where the
first `size` bytes are the content, or None where the record does not belong to this key and number. Records are
authenticated, so a caller that lost count may try numbers.

Sources: RFC 8446 (5.2, 5.3, 7.1, 7.2, 7.3), RFC 5246 (5, 6.2.3, 6.3), RFC 5288, RFC 6655, RFC 7366, RFC 7905. The
primitives are those of `cryptography`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hmac import digest
from typing import Any, Final, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESCCM, AESGCM, ChaCha20Poly1305

from decoders.tls.cipher_suites import Suite
from decoders.tls.key_log import KeyLog

__all__ = [
    "HASH_SIZES",
    "Opened",
    "RecordCipher",
    "find_traffic_secret",
    "make_tls12_ciphers",
    "make_tls13_cipher",
    "secret_after_key_update",
]

Opened = tuple[int, bytes, int]
Buffer = bytes | memoryview

# Sizes of the hashes in bytes; traffic secrets have the same sizes.
HASH_SIZES: Final = {"sha256": 32, "sha384": 48}
_IV_SIZE: Final = 12
_SALT_SIZE: Final = 4
_EXPLICIT_SIZE: Final = 8


class RecordCipher(Protocol):
    """A cipher that opens the records of one direction and one key.

    `ahead` is the number of bytes of a record's body before its content. `overhead` is the number of bytes that a
    record adds to its content, without its header; -1 where it differs from record to record.
    """

    ahead: int
    overhead: int

    def open_record(self, record_number: int, header: bytes, body: Buffer) -> Opened | None:
        """The content of a record; `header` is its header of five bytes."""


# TLS 1.3.


def hkdf_expand_label(secret: bytes, label: str, size: int, hash_name: str) -> bytes:
    """HKDF-Expand-Label without a context, for sizes up to that of the hash (RFC 8446, 7.1)."""
    name = b"tls13 " + label.encode("ascii")
    return digest(secret, size.to_bytes(2, "big") + bytes([len(name)]) + name + b"\0\1", hash_name)[:size]


def secret_after_key_update(secret: bytes, suite: Suite) -> bytes:
    """The secret of the next generation, after a key update (RFC 8446, 7.2)."""
    return hkdf_expand_label(secret, "traffic upd", len(secret), suite.hash_name)


def find_traffic_secret(keys: KeyLog, suite: Suite, client_random: bytes, labels: Sequence[str]) -> bytes | None:
    """The secret of the first label that the key log has, moved on by one key update for each label before it."""
    for updates, label in enumerate(labels):
        found = keys.find_secret(label, client_random)
        if found is not None and len(found) == HASH_SIZES[suite.hash_name]:
            for _ in range(updates):
                found = secret_after_key_update(found, suite)
            return found
    return None


def make_tls13_cipher(suite: Suite, secret: bytes) -> RecordCipher:
    """The cipher of a traffic secret of TLS 1.3."""
    key = hkdf_expand_label(secret, "key", suite.key_size, suite.hash_name)
    iv = hkdf_expand_label(secret, "iv", _IV_SIZE, suite.hash_name)
    return Tls13Cipher(_make_aead_decryptor(suite, key), iv, suite.tag_size)


class Tls13Cipher:
    """Any AEAD of TLS 1.3: the content type follows the content, and zeros may follow the type."""

    __slots__ = ("_decrypt", "_iv", "ahead", "overhead")

    def __init__(self, decrypt: Callable[..., bytes], iv: bytes, tag_size: int) -> None:
        self._decrypt = decrypt
        self._iv = int.from_bytes(iv, "big")
        self.ahead = 0
        self.overhead = tag_size + 1

    def open_record(self, record_number: int, header: bytes, body: Buffer) -> Opened | None:
        """The content of a record; its type is 0 where it has nothing but padding."""
        try:
            data = self._decrypt((self._iv ^ record_number).to_bytes(_IV_SIZE, "big"), body, header)
        except (InvalidTag, ValueError):
            return None
        size = len(data) - 1
        if size < 0 or not data[size]:
            data = data.rstrip(b"\0")
            size = max(len(data) - 1, 0)
        return data[size] if data else 0, data, size


# TLS 1.2.


def _tls12_prf(secret: bytes, label: bytes, seed: bytes, size: int, hash_name: str) -> bytes:
    """P_hash of RFC 5246, 5."""
    seed = label + seed
    out, each = b"", seed
    while len(out) < size:
        each = digest(secret, each, hash_name)
        out += digest(secret, each + seed, hash_name)
    return out[:size]


def make_tls12_ciphers(
    suite: Suite, master_secret: bytes, client_random: bytes, server_random: bytes, *, encrypt_then_mac: bool
) -> tuple[RecordCipher, RecordCipher]:
    """The ciphers of the client's and of the server's records (RFC 5246, 6.3)."""
    salt_size = {"gcm": _SALT_SIZE, "ccm": _SALT_SIZE, "chacha20": _IV_SIZE}.get(suite.kind, 0)
    sizes = (suite.mac_size, suite.mac_size, suite.key_size, suite.key_size, salt_size, salt_size)
    block = _tls12_prf(master_secret, b"key expansion", server_random + client_random, sum(sizes), suite.hash_name)
    parts: list[bytes] = []
    at = 0
    for size in sizes:
        parts.append(block[at : at + size])
        at += size
    if suite.kind == "cbc":
        make = EncryptThenMacCipher if encrypt_then_mac else CbcCipher
        return make(suite, parts[2], parts[0]), make(suite, parts[3], parts[1])
    if suite.kind == "chacha20":
        return ChaCha20Cipher(suite, parts[2], parts[4]), ChaCha20Cipher(suite, parts[3], parts[5])
    return ExplicitNonceCipher(suite, parts[2], parts[4]), ExplicitNonceCipher(suite, parts[3], parts[5])


class ExplicitNonceCipher:
    """AES-GCM and AES-CCM of TLS 1.2: eight bytes of the nonce are in the record."""

    __slots__ = ("_decrypt", "_salt", "ahead", "overhead")

    def __init__(self, suite: Suite, key: bytes, salt: bytes) -> None:
        self._decrypt = _make_aead_decryptor(suite, key)
        self._salt = salt
        self.ahead = _EXPLICIT_SIZE
        self.overhead = _EXPLICIT_SIZE + suite.tag_size

    def open_record(self, record_number: int, header: bytes, body: Buffer) -> Opened | None:
        """The content of a record."""
        size = len(body) - self.overhead
        if size < 0:
            return None
        about = b"%b%b%b" % (record_number.to_bytes(8, "big"), header[:3], size.to_bytes(2, "big"))
        try:
            data = self._decrypt(self._salt + body[:_EXPLICIT_SIZE], body[_EXPLICIT_SIZE:], about)
        except (InvalidTag, ValueError):
            return None
        return header[0], data, size


class ChaCha20Cipher:
    """ChaCha20-Poly1305 of TLS 1.2: the nonce is made of the record's number."""

    __slots__ = ("_decrypt", "_iv", "ahead", "overhead")

    def __init__(self, suite: Suite, key: bytes, iv: bytes) -> None:
        self._decrypt = _make_aead_decryptor(suite, key)
        self._iv = int.from_bytes(iv, "big")
        self.ahead = 0
        self.overhead = suite.tag_size

    def open_record(self, record_number: int, header: bytes, body: Buffer) -> Opened | None:
        """The content of a record."""
        size = len(body) - self.overhead
        if size < 0:
            return None
        about = b"%b%b%b" % (record_number.to_bytes(8, "big"), header[:3], size.to_bytes(2, "big"))
        try:
            data = self._decrypt((self._iv ^ record_number).to_bytes(_IV_SIZE, "big"), body, about)
        except (InvalidTag, ValueError):
            return None
        return header[0], data, size


class CbcCipher:
    """The block ciphers of TLS 1.2: the MAC covers the content, then both are padded and encrypted."""

    __slots__ = ("_algorithm", "_block", "_mac_key", "_mac_name", "_mac_size", "ahead", "overhead")

    def __init__(self, suite: Suite, key: bytes, mac_key: bytes) -> None:
        self._algorithm = _make_block_cipher(suite, key)
        self._block = self._algorithm.block_size // 8
        self._mac_key = mac_key
        self._mac_name = suite.mac_name
        self._mac_size = suite.mac_size
        self.ahead = self._block
        self.overhead = -1

    def _decrypt_and_unpad(self, body: Buffer) -> bytes:
        """The decrypted bytes without their padding; empty where the padding is not valid."""
        block = self._block
        if len(body) < 2 * block or len(body) % block:
            return b""
        data: bytes = Cipher(self._algorithm, modes.CBC(bytes(body[:block]))).decryptor().update(body[block:])
        size = len(data) - 1 - data[-1]
        return data[:size] if size >= 0 and data.endswith(data[-1:] * (data[-1] + 1)) else b""

    def _compute_mac(self, number: int, header: bytes, data: Buffer, size: int) -> bytes:
        about = b"".join((number.to_bytes(8, "big"), header[:3], size.to_bytes(2, "big"), data))
        return digest(self._mac_key, about, self._mac_name)

    def open_record(self, record_number: int, header: bytes, body: Buffer) -> Opened | None:
        """The content of a record."""
        data = self._decrypt_and_unpad(body)
        size = len(data) - self._mac_size
        if size < 0 or data[size:] != self._compute_mac(record_number, header, data[:size], size):
            return None
        return header[0], data, size


class EncryptThenMacCipher(CbcCipher):
    """The block ciphers of TLS 1.2 where both sides agreed that the MAC covers the encrypted bytes (RFC 7366)."""

    __slots__ = ()

    def open_record(self, record_number: int, header: bytes, body: Buffer) -> Opened | None:
        """The content of a record."""
        size = len(body) - self._mac_size
        if size < 0 or bytes(body[size:]) != self._compute_mac(record_number, header, body[:size], size):
            return None
        data = self._decrypt_and_unpad(body[:size])
        # No data: either the content is empty, or the padding is not valid; the MAC was right, so the content is empty.
        return header[0], data, len(data)


def _make_block_cipher(suite: Suite, key: bytes) -> Any:
    if suite.block == "AES":
        return algorithms.AES(key)
    from cryptography.hazmat.decrepit.ciphers import algorithms as old  # hardly anybody uses them

    if suite.block == "3DES":
        return old.TripleDES(key)
    return (old if hasattr(old, "Camellia") else algorithms).Camellia(key)  # it moved in release 47


def _make_aead_decryptor(suite: Suite, key: bytes) -> Any:
    """The decrypting primitive of a suite: nonce, ciphertext, associated data → plaintext."""
    if suite.kind == "gcm":
        return AESGCM(key).decrypt
    if suite.kind == "ccm":
        return AESCCM(key, tag_length=suite.tag_size).decrypt
    return ChaCha20Poly1305(key).decrypt
