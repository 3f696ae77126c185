"""Cipher suites as Java names them in, as OpenSSL names them out.

Java takes the standard's names (`TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256`), OpenSSL before TLS 1.3 its own
(`ECDHE-RSA-AES128-GCM-SHA256`). Suites of TLS 1.3 are not chosen this way: they are on wherever 1.3 is.
"""

from __future__ import annotations

import re
from typing import Final

_STANDARD: Final = re.compile(r"TLS_(?:(\w+)_)?WITH_(\w+)")
_WORDS: Final = (
    ("AES_128", "AES128"),
    ("AES_256", "AES256"),
    ("_CBC", ""),
    ("CCM_8", "CCM8"),
    ("CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305"),
)


def openssl_ciphers(text: str) -> str | None:
    """The cipher list for OpenSSL; None where only suites of TLS 1.3 are named, which need no list."""
    names = [name.strip() for name in re.split(r"[,:]", text) if name.strip()]
    found = [_name(name) for name in names]
    return ":".join(name for name in found if name) or None


def _name(name: str) -> str:
    if not name.startswith("TLS_"):
        return name
    match = _STANDARD.fullmatch(name)
    if match is None:
        return ""
    exchange, cipher = match[1] or "", match[2]
    for word, other in _WORDS:
        cipher = cipher.replace(word, other)
    parts = [] if exchange == "RSA" else [exchange]
    return "-".join([*parts, cipher]).replace("_", "-")
