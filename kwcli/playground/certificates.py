"""A folder in, PEM files for TLS listeners and their clients out: one authority, one broker, one client."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from kwcli.net import issuing

__all__ = ["make_certificates"]

_NAMES: Final = {"broker": "localhost", "client": "client"}
_PLACES: Final = ("localhost", "127.0.0.1", "::1")


def make_certificates(folder: Path) -> None:
    """Write ca.pem, broker.pem and client.pem (PKCS#8 key, certificate and authority in one file each) into `folder`.

    The parts stand beside them as NAME.key and NAME.crt. Both certificates are good for localhost, 127.0.0.1 and ::1.
    """
    folder.mkdir(parents=True, exist_ok=True)
    authority = issuing.authority("kw-ca")
    _write(folder / "ca.key", authority.key_pem)
    _write(folder / "ca.pem", authority.certificate_pem)
    for name, subject in _NAMES.items():
        made = issuing.leaf(authority, subject, _PLACES)
        _write(folder / f"{name}.key", made.key_pem)
        _write(folder / f"{name}.crt", made.certificate_pem)
        _write(folder / f"{name}.pem", made.key_pem + made.certificate_pem + authority.certificate_pem)


def _write(path: Path, data: bytes) -> None:
    """Only its owner may read it: there are keys among them."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
