"""The user's state folder in, the proxy's own authority out: made once, so that clients have to be told of it once.

`authority.pem` has key and certificate, and only its owner may read it; `ca.pem`, for clients, has the certificate.
"""

from __future__ import annotations

import os
import socket
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from decoders.named_tuple import NamedTuple
from kwcli.net.tls import issue_certificates
from kwcli.net.tls.issue_certificates import Issued
from kwcli.run_environment import Exit, Failure
from kwcli.user_folders import own_folder

_PRIVATE: Final = "authority.pem"
_PUBLIC: Final = "ca.pem"
_SOON: Final = timedelta(days=30)


class Authority(NamedTuple):
    """The authority that signs certificates, and the file by which clients trust it."""

    issued: Issued
    path: Path


def find_state_folder(variables: Mapping[str, str]) -> Path:
    """The folder of the proxy's state: `$XDG_STATE_HOME/kw/proxy`, or `~/.local/state/kw/proxy`."""
    return own_folder("state", variables) / "proxy"


def read_or_make_authority(folder: Path) -> Authority:
    """The authority in `folder`; made where there is none. Raises Failure where it cannot be used.

    Two proxies that start at the same time get the same one.
    """
    private, public = folder / _PRIVATE, folder / _PUBLIC
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not private.exists():
            made = issue_certificates.issue_authority(f"kw proxy {socket.gethostname()}")
            _write_new_file(private, made.key_pem + made.certificate_pem)
        issued = _read_authority(private)
        if not public.exists() or public.read_bytes() != issued.certificate_pem:
            _replace_file(public, issued.certificate_pem, 0o644)
    except OSError as error:
        raise Failure(f"{error.filename or folder} cannot be used: {error.strerror}", Exit.USAGE) from None
    return Authority(issued, public)


def _read_authority(path: Path) -> Issued:
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        text = f"other users may read {path}, the key that clients of kw proxy trust: chmod 600 it, or remove it"
        raise Failure(text, Exit.USAGE)
    data = path.read_bytes()
    try:
        key = load_pem_private_key(data, None)
        certificate = x509.load_pem_x509_certificate(data)
    except (ValueError, TypeError):
        raise Failure(f"{path} holds no key and certificate; remove it, and kw makes a new one", Exit.USAGE) from None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
        raise Failure(f"the key in {path} is not its certificate's; remove it, and kw makes a new one", Exit.USAGE)
    if certificate.not_valid_after_utc - datetime.now(UTC) < _SOON:
        text = f"the authority in {path} ends on {certificate.not_valid_after_utc:%Y-%m-%d}"
        raise Failure(f"{text}; remove it, and kw makes a new one for clients to trust", Exit.USAGE)
    return Issued(key, certificate)


def _write_new_file(path: Path, data: bytes) -> None:
    """Make a file that only its owner may read, whole or not at all; a file that is there already stays."""
    handle, name = tempfile.mkstemp(prefix=path.name, dir=path.parent)  # of mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        with suppress(FileExistsError):
            os.link(name, path)
    finally:
        os.unlink(name)


def _replace_file(path: Path, data: bytes, mode: int) -> None:
    handle, name = tempfile.mkstemp(prefix=path.name, dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(name, mode)
        os.replace(name, path)
    except OSError:
        with suppress(OSError):
            os.unlink(name)
        raise
