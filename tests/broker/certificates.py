"""PEM files for TLS listeners and their clients, made by openssl: one CA, one broker, one client."""

from __future__ import annotations

import subprocess
from pathlib import Path

__all__ = ["make_certificates"]

_SUBJECTS = {"broker": "/CN=localhost", "client": "/CN=client"}


def make_certificates(folder: Path) -> None:
    """Write ca.pem, broker.pem and client.pem (PKCS#8 key, certificate and CA in one file each) into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    _openssl(folder, "req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "3650", "-subj", "/CN=kw-ca")
    (folder / "names.ext").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1\n")
    for name, subject in _SUBJECTS.items():
        _openssl(folder, "req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", subject)
        signing = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "3650", "-extfile", "names.ext"]
        _openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.crt", *signing)
        parts = (f"{name}.key", f"{name}.crt", "ca.pem")
        (folder / f"{name}.pem").write_text("".join((folder / part).read_text() for part in parts))


def _openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)
