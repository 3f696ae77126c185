"""Cipher suite numbers in; names, ciphers and hashes of the suites out (IANA's registry of TLS parameters).

A suite's name says everything: after `_WITH_` (in TLS 1.3 after `TLS_`) its cipher, then its hash. A suite whose cipher
has no row in `_CIPHERS` has a name but cannot be read: ARIA (`cryptography` has none), RC4, NULL.
"""

from __future__ import annotations

from typing import Final, Literal

from decoders.named_tuple import NamedTuple

__all__ = ["CipherKind", "Suite", "find_suite"]

CipherKind = Literal["gcm", "ccm", "chacha20", "cbc", ""]


class Suite(NamedTuple):
    """One cipher suite: `kind` is empty where its records cannot be read. `hash_name` is for key schedule or PRF.

    `key_size` and `tag_size` are in bytes; `block` (the block cipher's name), `mac_name` and `mac_size` are only set
    for suites of kind `cbc`.
    """

    number: int
    name: str
    kind: CipherKind
    key_size: int
    tag_size: int
    hash_name: str
    mac_name: str
    mac_size: int
    block: str = ""


# Key exchange → cipher and hash → number.
_NAMES: Final[dict[str, dict[str, int]]] = {
    "": {
        "AES_128_GCM_SHA256": 0x1301,
        "AES_256_GCM_SHA384": 0x1302,
        "CHACHA20_POLY1305_SHA256": 0x1303,
        "AES_128_CCM_SHA256": 0x1304,
        "AES_128_CCM_8_SHA256": 0x1305,
    },
    "RSA": {
        "NULL_MD5": 0x0001,
        "NULL_SHA": 0x0002,
        "RC4_128_MD5": 0x0004,
        "RC4_128_SHA": 0x0005,
        "3DES_EDE_CBC_SHA": 0x000A,
        "AES_128_CBC_SHA": 0x002F,
        "AES_256_CBC_SHA": 0x0035,
        "NULL_SHA256": 0x003B,
        "AES_128_CBC_SHA256": 0x003C,
        "AES_256_CBC_SHA256": 0x003D,
        "CAMELLIA_128_CBC_SHA": 0x0041,
        "CAMELLIA_256_CBC_SHA": 0x0084,
        "AES_128_GCM_SHA256": 0x009C,
        "AES_256_GCM_SHA384": 0x009D,
        "CAMELLIA_128_CBC_SHA256": 0x00BA,
        "CAMELLIA_256_CBC_SHA256": 0x00C0,
        "ARIA_128_GCM_SHA256": 0xC050,
        "ARIA_256_GCM_SHA384": 0xC051,
        "AES_128_CCM": 0xC09C,
        "AES_256_CCM": 0xC09D,
        "AES_128_CCM_8": 0xC0A0,
        "AES_256_CCM_8": 0xC0A1,
    },
    "DHE_DSS": {
        "3DES_EDE_CBC_SHA": 0x0013,
        "AES_128_CBC_SHA": 0x0032,
        "AES_256_CBC_SHA": 0x0038,
        "AES_128_CBC_SHA256": 0x0040,
        "CAMELLIA_128_CBC_SHA": 0x0044,
        "AES_256_CBC_SHA256": 0x006A,
        "CAMELLIA_256_CBC_SHA": 0x0087,
        "AES_128_GCM_SHA256": 0x00A2,
        "AES_256_GCM_SHA384": 0x00A3,
        "CAMELLIA_128_CBC_SHA256": 0x00BD,
        "CAMELLIA_256_CBC_SHA256": 0x00C3,
        "ARIA_128_GCM_SHA256": 0xC056,
        "ARIA_256_GCM_SHA384": 0xC057,
    },
    "DHE_RSA": {
        "3DES_EDE_CBC_SHA": 0x0016,
        "AES_128_CBC_SHA": 0x0033,
        "AES_256_CBC_SHA": 0x0039,
        "CAMELLIA_128_CBC_SHA": 0x0045,
        "AES_128_CBC_SHA256": 0x0067,
        "AES_256_CBC_SHA256": 0x006B,
        "CAMELLIA_256_CBC_SHA": 0x0088,
        "AES_128_GCM_SHA256": 0x009E,
        "AES_256_GCM_SHA384": 0x009F,
        "CAMELLIA_128_CBC_SHA256": 0x00BE,
        "CAMELLIA_256_CBC_SHA256": 0x00C4,
        "ARIA_128_GCM_SHA256": 0xC052,
        "ARIA_256_GCM_SHA384": 0xC053,
        "AES_128_CCM": 0xC09E,
        "AES_256_CCM": 0xC09F,
        "AES_128_CCM_8": 0xC0A2,
        "AES_256_CCM_8": 0xC0A3,
        "CHACHA20_POLY1305_SHA256": 0xCCAA,
    },
    "DH_anon": {
        "3DES_EDE_CBC_SHA": 0x001B,
        "AES_128_CBC_SHA": 0x0034,
        "AES_256_CBC_SHA": 0x003A,
        "CAMELLIA_128_CBC_SHA": 0x0046,
        "AES_128_CBC_SHA256": 0x006C,
        "AES_256_CBC_SHA256": 0x006D,
        "CAMELLIA_256_CBC_SHA": 0x0089,
        "AES_128_GCM_SHA256": 0x00A6,
        "AES_256_GCM_SHA384": 0x00A7,
        "CAMELLIA_128_CBC_SHA256": 0x00BF,
        "CAMELLIA_256_CBC_SHA256": 0x00C5,
    },
    "ECDH_ECDSA": {
        "3DES_EDE_CBC_SHA": 0xC003,
        "AES_128_CBC_SHA": 0xC004,
        "AES_256_CBC_SHA": 0xC005,
        "AES_128_CBC_SHA256": 0xC025,
        "AES_256_CBC_SHA384": 0xC026,
        "AES_128_GCM_SHA256": 0xC02D,
        "AES_256_GCM_SHA384": 0xC02E,
    },
    "ECDHE_ECDSA": {
        "NULL_SHA": 0xC006,
        "3DES_EDE_CBC_SHA": 0xC008,
        "AES_128_CBC_SHA": 0xC009,
        "AES_256_CBC_SHA": 0xC00A,
        "AES_128_CBC_SHA256": 0xC023,
        "AES_256_CBC_SHA384": 0xC024,
        "AES_128_GCM_SHA256": 0xC02B,
        "AES_256_GCM_SHA384": 0xC02C,
        "ARIA_128_GCM_SHA256": 0xC05C,
        "ARIA_256_GCM_SHA384": 0xC05D,
        "CAMELLIA_128_CBC_SHA256": 0xC072,
        "CAMELLIA_256_CBC_SHA384": 0xC073,
        "AES_128_CCM": 0xC0AC,
        "AES_256_CCM": 0xC0AD,
        "AES_128_CCM_8": 0xC0AE,
        "AES_256_CCM_8": 0xC0AF,
        "CHACHA20_POLY1305_SHA256": 0xCCA9,
    },
    "ECDH_RSA": {
        "3DES_EDE_CBC_SHA": 0xC00D,
        "AES_128_CBC_SHA": 0xC00E,
        "AES_256_CBC_SHA": 0xC00F,
        "AES_128_CBC_SHA256": 0xC029,
        "AES_256_CBC_SHA384": 0xC02A,
        "AES_128_GCM_SHA256": 0xC031,
        "AES_256_GCM_SHA384": 0xC032,
    },
    "ECDHE_RSA": {
        "NULL_SHA": 0xC010,
        "3DES_EDE_CBC_SHA": 0xC012,
        "AES_128_CBC_SHA": 0xC013,
        "AES_256_CBC_SHA": 0xC014,
        "AES_128_CBC_SHA256": 0xC027,
        "AES_256_CBC_SHA384": 0xC028,
        "AES_128_GCM_SHA256": 0xC02F,
        "AES_256_GCM_SHA384": 0xC030,
        "ARIA_128_GCM_SHA256": 0xC060,
        "ARIA_256_GCM_SHA384": 0xC061,
        "CAMELLIA_128_CBC_SHA256": 0xC076,
        "CAMELLIA_256_CBC_SHA384": 0xC077,
        "CHACHA20_POLY1305_SHA256": 0xCCA8,
    },
    "ECDH_anon": {
        "NULL_SHA": 0xC015,
        "3DES_EDE_CBC_SHA": 0xC017,
        "AES_128_CBC_SHA": 0xC018,
        "AES_256_CBC_SHA": 0xC019,
    },
    "PSK": {
        "NULL_SHA": 0x002C,
        "3DES_EDE_CBC_SHA": 0x008B,
        "AES_128_CBC_SHA": 0x008C,
        "AES_256_CBC_SHA": 0x008D,
        "AES_128_GCM_SHA256": 0x00A8,
        "AES_256_GCM_SHA384": 0x00A9,
        "AES_128_CBC_SHA256": 0x00AE,
        "AES_256_CBC_SHA384": 0x00AF,
        "NULL_SHA256": 0x00B0,
        "NULL_SHA384": 0x00B1,
        "ARIA_128_GCM_SHA256": 0xC06A,
        "ARIA_256_GCM_SHA384": 0xC06B,
        "CAMELLIA_128_CBC_SHA256": 0xC094,
        "CAMELLIA_256_CBC_SHA384": 0xC095,
        "AES_128_CCM": 0xC0A4,
        "AES_256_CCM": 0xC0A5,
        "AES_128_CCM_8": 0xC0A8,
        "AES_256_CCM_8": 0xC0A9,
        "CHACHA20_POLY1305_SHA256": 0xCCAB,
    },
    "ECDHE_PSK": {
        "3DES_EDE_CBC_SHA": 0xC034,
        "AES_128_CBC_SHA": 0xC035,
        "AES_256_CBC_SHA": 0xC036,
        "AES_128_CBC_SHA256": 0xC037,
        "AES_256_CBC_SHA384": 0xC038,
        "NULL_SHA": 0xC039,
        "NULL_SHA256": 0xC03A,
        "NULL_SHA384": 0xC03B,
        "CAMELLIA_128_CBC_SHA256": 0xC09A,
        "CAMELLIA_256_CBC_SHA384": 0xC09B,
        "CHACHA20_POLY1305_SHA256": 0xCCAC,
    },
    "DHE_PSK": {
        "NULL_SHA": 0x002D,
        "3DES_EDE_CBC_SHA": 0x008F,
        "AES_128_CBC_SHA": 0x0090,
        "AES_256_CBC_SHA": 0x0091,
        "AES_128_GCM_SHA256": 0x00AA,
        "AES_256_GCM_SHA384": 0x00AB,
        "AES_128_CBC_SHA256": 0x00B2,
        "AES_256_CBC_SHA384": 0x00B3,
        "NULL_SHA256": 0x00B4,
        "NULL_SHA384": 0x00B5,
        "ARIA_128_GCM_SHA256": 0xC06C,
        "ARIA_256_GCM_SHA384": 0xC06D,
        "CAMELLIA_128_CBC_SHA256": 0xC096,
        "CAMELLIA_256_CBC_SHA384": 0xC097,
        "AES_128_CCM": 0xC0A6,
        "AES_256_CCM": 0xC0A7,
        "CHACHA20_POLY1305_SHA256": 0xCCAD,
    },
    "RSA_PSK": {
        "NULL_SHA": 0x002E,
        "3DES_EDE_CBC_SHA": 0x0093,
        "AES_128_CBC_SHA": 0x0094,
        "AES_256_CBC_SHA": 0x0095,
        "AES_128_GCM_SHA256": 0x00AC,
        "AES_256_GCM_SHA384": 0x00AD,
        "AES_128_CBC_SHA256": 0x00B6,
        "AES_256_CBC_SHA384": 0x00B7,
        "NULL_SHA256": 0x00B8,
        "NULL_SHA384": 0x00B9,
        "ARIA_128_GCM_SHA256": 0xC06E,
        "ARIA_256_GCM_SHA384": 0xC06F,
        "CAMELLIA_128_CBC_SHA256": 0xC098,
        "CAMELLIA_256_CBC_SHA384": 0xC099,
        "CHACHA20_POLY1305_SHA256": 0xCCAE,
    },
    "PSK_DHE": {
        "AES_128_CCM_8": 0xC0AA,
        "AES_256_CCM_8": 0xC0AB,
    },
    "SRP_SHA_DSS": {
        "AES_128_CBC_SHA": 0xC01F,
        "AES_256_CBC_SHA": 0xC022,
    },
    "SRP_SHA_RSA": {
        "AES_128_CBC_SHA": 0xC01E,
        "AES_256_CBC_SHA": 0xC021,
    },
    "SRP_SHA": {
        "AES_128_CBC_SHA": 0xC01D,
        "AES_256_CBC_SHA": 0xC020,
    },
}

# Cipher → kind, key size, tag size.
_CIPHERS: Final[dict[str, tuple[CipherKind, int, int]]] = {
    "AES_128_GCM": ("gcm", 16, 16),
    "AES_256_GCM": ("gcm", 32, 16),
    "AES_128_CCM": ("ccm", 16, 16),
    "AES_256_CCM": ("ccm", 32, 16),
    "AES_128_CCM_8": ("ccm", 16, 8),
    "AES_256_CCM_8": ("ccm", 32, 8),
    "CHACHA20_POLY1305": ("chacha20", 32, 16),
    "AES_128_CBC": ("cbc", 16, 0),
    "AES_256_CBC": ("cbc", 32, 0),
    "CAMELLIA_128_CBC": ("cbc", 16, 0),
    "CAMELLIA_256_CBC": ("cbc", 32, 0),
    "3DES_EDE_CBC": ("cbc", 24, 0),
}
# Hash of the name → hash of the PRF (at least SHA-256: RFC 5246, 5), size.
_HASHES: Final[dict[str, tuple[str, str, int]]] = {
    "SHA": ("sha256", "sha1", 20),
    "SHA256": ("sha256", "sha256", 32),
    "SHA384": ("sha384", "sha384", 48),
}


def make_suite_from_name(number: int, exchange: str, rest: str) -> Suite:
    name = f"TLS_{exchange}_WITH_{rest}" if exchange else f"TLS_{rest}"
    cipher, _, hash_name = rest.rpartition("_")
    if rest in _CIPHERS:  # names of CCM suites leave out SHA-256
        cipher, hash_name = rest, "SHA256"
    kind, key_size, tag_size = _CIPHERS.get(cipher, ("", 0, 0))
    prf, mac_name, mac_size = _HASHES.get(hash_name, ("", "", 0))
    if kind != "cbc":
        return Suite(number, name, kind, key_size, tag_size, prf, "", 0)
    return Suite(number, name, kind, key_size, tag_size, prf, mac_name, mac_size, cipher.partition("_")[0])


_SUITES: Final = {
    number: make_suite_from_name(number, exchange, rest)
    for exchange, rows in _NAMES.items()
    for rest, number in rows.items()
}


def find_suite(suite_number: int) -> Suite:
    """The suite of a number; an unknown suite has the number for a name, and no kind."""
    return _SUITES.get(suite_number) or Suite(suite_number, f"0x{suite_number:04X}", "", 0, 0, "", "", 0)
