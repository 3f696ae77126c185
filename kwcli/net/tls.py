"""TLS settings in, a context for a client's connections out; and the errors of TLS as lines that people understand.

A key never rests in a file: OpenSSL, which takes it by file name only, reads it from memory (memfd) where the system
can do that, else from a file that is locked with a password nobody knows and removed at once.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from kwcli.exits import Exit, Failure
from kwcli.net.core.config import Tls
from kwcli.net.stores import Identity, identity, trusted

_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


def client_context(tls: Tls) -> ssl.SSLContext:
    """What to wrap a socket with. Failure (usage) where a file or a password is wrong."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = _VERSIONS[tls.minimum or "TLSv1.2"]
    if tls.maximum:
        context.maximum_version = _VERSIONS[tls.maximum]
    context.check_hostname = tls.verify and tls.check_hostname
    context.verify_mode = ssl.CERT_REQUIRED if tls.verify else ssl.CERT_NONE
    if tls.verify:
        _trust(context, tls)
    if tls.certificate is not None:
        present(context, identity(tls.certificate, tls.key))
    if tls.ciphers:
        _choose_ciphers(context, tls.ciphers)
    if tls.key_log:
        log_keys(context, tls.key_log)
    return context


def log_keys(context: ssl.SSLContext, path: str) -> None:
    """Have OpenSSL write the keys of all connections to a file, as SSLKEYLOGFILE asks for. Failure (usage)."""
    try:
        # Python would make it readable by all.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
        context.keylog_filename = path
    except OSError as error:
        raise Failure(f"SSLKEYLOGFILE {path} cannot be written: {error.strerror}", Exit.USAGE) from None


def _trust(context: ssl.SSLContext, tls: Tls) -> None:
    if tls.authorities is None:
        context.load_default_certs()
        return
    # A trust store may name a broker's own certificate or a middle one: it is trusted as it stands, as Java does.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        context.load_verify_locations(cadata=trusted(tls.authorities))
    except ssl.SSLError as error:
        raise Failure(f"the trust store's certificates cannot be read ({_reason(error)})", Exit.USAGE) from None


def _choose_ciphers(context: ssl.SSLContext, ciphers: str) -> None:
    from kwcli.net.core.ciphers import openssl_ciphers

    names = openssl_ciphers(ciphers)
    if names is None:
        return
    try:
        context.set_ciphers(names)
    except ssl.SSLError:
        raise Failure(f"ssl.cipher.suites names no cipher suite that OpenSSL knows: {ciphers}", Exit.USAGE) from None


def present(context: ssl.SSLContext, own: Identity, whose: str = "the client's") -> None:
    """Show this certificate to peers. Failure (usage) where its key is another's or cannot be opened."""
    with _file(own) as (path, password):
        try:
            # Without a password OpenSSL would ask the terminal for one.
            context.load_cert_chain(path, password=password or "")
        except ssl.SSLError as error:
            wrong = "KEY_VALUES_MISMATCH" in str(error) or "key values mismatch" in str(error)
            text = f"{whose} key does not belong to its certificate" if wrong else _unusable(own, error, whose)
            raise Failure(text, Exit.USAGE) from None


def _unusable(own: Identity, error: ssl.SSLError, whose: str) -> str:
    if own.password is not None:
        return f"{whose} key cannot be opened: is ssl.key.password right?"
    return f"{whose} certificate or key cannot be used ({_reason(error)})"


@contextmanager
def _file(own: Identity) -> Iterator[tuple[str, str | None]]:
    """A name by which OpenSSL can read certificate and key, while the block lasts; and the password of the key."""
    memory = getattr(os, "memfd_create", None)
    if memory is not None and os.path.exists("/proc/self/fd"):
        handle = memory("kw")
        try:
            _write(handle, f"{own.certificates}{own.key}")
            yield f"/proc/self/fd/{handle}", own.password
        finally:
            os.close(handle)
        return
    import tempfile
    from base64 import b64encode

    from kwcli.net.core.jks import StoreError
    from kwcli.net.core.pkcs12 import locked

    password = b64encode(os.urandom(24)).decode()
    try:
        key = locked(own.key or "", own.password, password)
    except StoreError as error:
        raise Failure(f"the client's key cannot be opened: {error}", Exit.USAGE) from None
    handle, path = tempfile.mkstemp(prefix="kw-")  # of mode 0600
    try:
        _write(handle, f"{own.certificates}{key}")
        os.close(handle)
        yield path, password
    finally:
        with suppress(OSError):
            os.unlink(path)


def _write(handle: int, text: str) -> None:
    left = memoryview(text.encode())
    while left:
        left = left[os.write(handle, left) :]


def _reason(error: ssl.SSLError) -> str:
    return (error.reason or str(error)).replace("_", " ").lower()
