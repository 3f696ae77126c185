"""PEM files for TLS listeners and their clients: one authority, one broker, one client."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from kwcli.net.tls import issue_certificates
from kwcli.private_files import open_private_file

_NAMES: Final = {"broker": "localhost", "client": "client"}
_PLACES: Final = ("localhost", "127.0.0.1", "::1")


def write_tls_certificates(folder: Path) -> None:
    """Write ca.pem, broker.pem and client.pem (PKCS#8 key, certificate and authority in one file each) into `folder`.

    The parts stand beside them as NAME.key and NAME.crt. Both certificates are good for localhost, 127.0.0.1 and ::1.
    """
    folder.mkdir(parents=True, exist_ok=True)
    authority = issue_certificates.issue_authority("kw-ca")
    _write_private_file(folder / "ca.key", authority.key_pem)
    _write_private_file(folder / "ca.pem", authority.certificate_pem)
    for name, subject in _NAMES.items():
        made = issue_certificates.issue_leaf(authority, subject, _PLACES)
        _write_private_file(folder / f"{name}.key", made.key_pem)
        _write_private_file(folder / f"{name}.crt", made.certificate_pem)
        _write_private_file(folder / f"{name}.pem", made.key_pem + made.certificate_pem + authority.certificate_pem)


def _write_private_file(path: Path, data: bytes) -> None:
    """Write a file that only its owner may read: some have private keys."""
    with open(path, "wb", opener=open_private_file) as file:
        file.write(data)
