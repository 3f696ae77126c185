"""Settings in, a TLS context out; a connected socket in, a secured stream out, or why the handshake failed."""

from __future__ import annotations

import errno
import os
import re
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any, Final

from kwcli.net.command_deadline import Deadline
from kwcli.net.config.client_config import TlsSettings
from kwcli.net.explain_connection_end import Cause, ConnectionStop
from kwcli.net.tls.key_stores import Identity, encrypt_key_with_other_password, read_identity, read_trusted_certificates
from kwcli.private_files import open_private_file
from kwcli.run_environment import Exit, Failure

_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


def make_client_context(tls: TlsSettings) -> ssl.SSLContext:
    """The TLS context of a client. Failure (usage) where a file or a password is wrong."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = _VERSIONS[tls.minimum or "TLSv1.2"]
    if tls.maximum:
        context.maximum_version = _VERSIONS[tls.maximum]
    context.check_hostname = tls.verify and tls.check_hostname
    context.verify_mode = ssl.CERT_REQUIRED if tls.verify else ssl.CERT_NONE
    if tls.verify:
        _load_trusted_authorities(context, tls)
    if tls.certificate is not None:
        load_own_certificate(context, read_identity(tls.certificate, tls.key))
    if tls.ciphers:
        _set_ciphers(context, tls.ciphers)
    if tls.key_log:
        log_keys_to_file(context, tls.key_log)
    return context


def log_keys_to_file(context: ssl.SSLContext, path: str) -> None:
    """Have OpenSSL write the keys of all connections to a file, as SSLKEYLOGFILE asks for. Failure (usage)."""
    try:
        # Python would make the file readable by all, and wait for ever for somebody who reads a named pipe.
        os.close(open_private_file(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NONBLOCK", 0)))
        context.keylog_filename = path
    except OSError as error:
        reason = "nobody reads this pipe" if error.errno == errno.ENXIO else error.strerror
        raise Failure(f"SSLKEYLOGFILE {path} cannot be written: {reason}", Exit.USAGE) from None


def _load_trusted_authorities(context: ssl.SSLContext, tls: TlsSettings) -> None:
    if tls.authorities is None:
        context.load_default_certs()
        return
    # A trust store may hold a broker's own certificate or an intermediate one: it is trusted as it stands, as in Java.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        context.load_verify_locations(cadata=read_trusted_certificates(tls.authorities))
    except ssl.SSLError as error:
        raise Failure(
            f"the trust store's certificates cannot be read ({_format_ssl_reason(error)})", Exit.USAGE
        ) from None


def _set_ciphers(context: ssl.SSLContext, ciphers: str) -> None:

    names = translate_ciphers(ciphers)
    if names is None:
        return
    try:
        context.set_ciphers(names)
    except ssl.SSLError:
        raise Failure(f"ssl.cipher.suites names no cipher suite that OpenSSL knows: {ciphers}", Exit.USAGE) from None


def load_own_certificate(context: ssl.SSLContext, own: Identity, whose: str = "the client's") -> None:
    """Present this certificate to peers. Failure (usage) where its key does not belong to it or cannot be opened."""
    with _write_certificate_to_temporary_file(own) as (path, password):
        try:
            # Without a password OpenSSL would ask the terminal for one.
            context.load_cert_chain(path, password=password or "")
        except ssl.SSLError as error:
            wrong = "KEY_VALUES_MISMATCH" in str(error) or "key values mismatch" in str(error)
            text = (
                f"{whose} key does not belong to its certificate"
                if wrong
                else _explain_unusable_certificate(own, error, whose)
            )
            raise Failure(text, Exit.USAGE) from None


def _explain_unusable_certificate(own: Identity, error: ssl.SSLError, whose: str) -> str:
    if own.password is not None:
        return f"{whose} key cannot be opened: is ssl.key.password right?"
    return f"{whose} certificate or key cannot be used ({_format_ssl_reason(error)})"


@contextmanager
def _write_certificate_to_temporary_file(own: Identity) -> Iterator[tuple[str, str | None]]:
    """A path by which OpenSSL can read certificate and key, while the block lasts; and the password of the key."""
    memory = getattr(os, "memfd_create", None)
    if memory is not None and os.path.exists("/proc/self/fd"):
        handle = memory("kw")
        try:
            _write_and_close(handle, f"{own.certificates}{own.key}")
            yield f"/proc/self/fd/{handle}", own.password
        finally:
            os.close(handle)
        return
    import tempfile
    from base64 import b64encode

    from kwcli.net.tls.read_pem_and_jks import StoreError

    password = b64encode(os.urandom(24)).decode()
    try:
        key = encrypt_key_with_other_password(own.key or "", own.password, password)
    except StoreError as error:
        raise Failure(f"the client's key cannot be opened: {error}", Exit.USAGE) from None
    handle, path = tempfile.mkstemp(prefix="kw-")  # of mode 0600
    try:
        _write_and_close(handle, f"{own.certificates}{key}")
        os.close(handle)
        yield path, password
    finally:
        with suppress(OSError):
            os.unlink(path)


def _write_and_close(handle: int, text: str) -> None:
    left = memoryview(text.encode())
    while left:
        left = left[os.write(handle, left) :]


def _format_ssl_reason(error: ssl.SSLError) -> str:
    return (error.reason or str(error)).replace("_", " ").lower()


# The handshake


# OpenSSL's reasons for a peer that does not speak TLS.
_NOT_TLS: Final = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL", "RECORD_LAYER_FAILURE"})


@lru_cache(maxsize=8)
def _get_or_make_cached_context(tls: TlsSettings) -> ssl.SSLContext:
    """A cached context: loading the system's authorities takes 20 ms, and a cluster has many brokers."""
    return make_client_context(tls)


def start_tls(link: socket.socket, host: str, tls: TlsSettings, deadline: Deadline) -> ssl.SSLSocket:
    """Do the TLS handshake. Raises TimeoutError, Failure for wrong settings, or ConnectionStop.

    `ssl` is loaded only where TLS is wanted: it takes longer to import than a plain request takes as a whole.
    The stop's cause is CLOSED where the peer may not speak TLS at all.
    """
    name = tls.server_name or host
    # ASCII names go as bytes: for text Python loads a codec that takes 5 ms.
    wanted: str | bytes = name.encode("ascii") if name.isascii() else name
    context = _get_or_make_cached_context(tls)
    secured: ssl.SSLSocket | None = None
    try:
        link.settimeout(max(deadline.left(), 0.001))
        link.getpeername()  # an OSError where it has been reset, which wrap_socket does not handle well
        secured = context.wrap_socket(link, server_hostname=wanted, do_handshake_on_connect=False)
        secured.do_handshake()
    except BaseException as error:
        if secured is not None:
            secured.close()
        if isinstance(error, OSError) and not isinstance(error, TimeoutError):
            raise explain_tls_error(error, tls, name) from None
        raise
    return secured


def explain_tls_error(error: OSError, tls: TlsSettings, name: str) -> ConnectionStop:
    """The stop for an error of the handshake, or of the first read after it. `name` is the host meant to be reached."""
    from kwcli.net.explain_connection_end import make_tls_stop

    stop = make_tls_stop(error, tls, name)
    reason = getattr(error, "reason", None)
    silent = not isinstance(error, ssl.SSLError) or isinstance(error, ssl.SSLEOFError) or reason in _NOT_TLS
    if silent:
        stop.cause = Cause.CLOSED
    return stop


def read_certificate_names(link: socket.socket, host: str, tls: TlsSettings, deadline: Deadline) -> list[str]:
    """The names in a broker's certificate that is right but for its names; empty where it has none."""
    with start_tls(link, host, tls._replace(check_hostname=False), deadline) as secured:
        shown: Any = secured.getpeercert() or {}
    return [str(name) for kind, name in shown.get("subjectAltName", ()) if kind in ("DNS", "IP Address")]


# Names of cipher suites


_STANDARD: Final = re.compile(r"TLS_(?:(\w+)_)?WITH_(\w+)")
_WORDS: Final = (
    ("AES_128", "AES128"),
    ("AES_256", "AES256"),
    ("_CBC", ""),
    ("CCM_8", "CCM8"),
    ("CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305"),
)


def translate_ciphers(text: str) -> str | None:
    """The cipher list for OpenSSL, from suites by Java's names; None: only TLS 1.3's are named, which need no list."""
    names = [name.strip() for name in re.split(r"[,:]", text) if name.strip()]
    found = [_translate_cipher(name) for name in names]
    return ":".join(name for name in found if name) or None


def _translate_cipher(name: str) -> str:
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
