"""An authority, a broker and a client, in every kind of store: made by cryptography, openssl and keytool."""

from __future__ import annotations

import subprocess
from pathlib import Path

from kwcli.playground.client_configs import make_certificates

STORE, KEY = "store-secret", "key-secret"


def make_stores(folder: Path, *, certificates: bool = True) -> None:
    """Make files in `folder`: ca.pem, broker.pem, client.pem (key and chain), and the other stores that tests name.

    `certificates` False: the PEM files are there already.
    """
    if certificates:
        make_certificates(folder)
    _run(folder, "openssl", "pkcs8", "-topk8", "-in", "client.key", "-out", "locked.key", "-passout", f"pass:{KEY}")
    old = ["-aes128", "-passout", f"pass:{KEY}"]
    _run(folder, "openssl", "ec", "-in", "client.key", "-out", "old-locked.key", *old)
    chain = ["-in", "client.pem", "-name", "client", "-passout", f"pass:{STORE}"]
    _run(folder, "openssl", "pkcs12", "-export", *chain, "-out", "client.p12")
    legacy = ["-keypbe", "PBE-SHA1-3DES", "-certpbe", "PBE-SHA1-3DES", "-macalg", "sha1"]
    _run(folder, "openssl", "pkcs12", "-export", *chain, *legacy, "-out", "old.p12")
    _run(folder, "openssl", "pkcs12", "-export", "-in", "client.pem", "-passout", "pass:", "-out", "open.p12")
    imported = ["-noprompt", "-alias", "ca", "-file", "ca.pem", "-storepass", STORE]
    for kind in ("jks", "pkcs12"):
        _run(folder, "keytool", "-importcert", *imported, "-storetype", kind, "-keystore", f"trust.{kind}")
    source = ["-srckeystore", "client.p12", "-srcstoretype", "pkcs12", "-srcstorepass", STORE, "-srcalias", "client"]
    target = ["-deststorepass", STORE, "-destkeypass", KEY, "-deststoretype", "jks", "-destkeystore", "client.jks"]
    _run(folder, "keytool", "-importkeystore", "-noprompt", *source, *target)
    target = ["-deststorepass", STORE, "-deststoretype", "jceks", "-destkeystore", "client.jceks"]
    _run(folder, "keytool", "-importkeystore", "-noprompt", *source, *target)


def _run(folder: Path, *words: str) -> None:
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
