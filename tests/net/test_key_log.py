"""SSLKEYLOGFILE: the lines that kw writes decrypt what it sent over TLS."""

from __future__ import annotations

import os
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from kwcli.net.config.build_config import build_client_config
from kwcli.net.config.client_config import ConnectionOptions, KeyStoreFile, TlsSettings
from kwcli.net.tls_connect import make_client_context
from kwcli.playground.tls_certificates import write_tls_certificates
from kwcli.run_environment import Exit, Failure
from tests.cli.worlds import world
from tests.net.tls_server import TlsServer, server_context

HANDSHAKE: Final = 22
APPLICATION_DATA: Final = 23
MESSAGE: Final = b"sasl.password=hunter2"
Record = tuple[int, bytes, bytes]  # content type, header, fragment


@contextmanager
def tap(port: int) -> Iterator[tuple[int, bytearray]]:
    """A port that forwards to another one, and the bytes that its client sent."""
    seen = bytearray()
    listener = socket.create_server(("127.0.0.1", 0))

    def pump(source: socket.socket, sink: socket.socket, copy: bytearray | None) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if copy is not None:
                    copy += data
                sink.sendall(data)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def serve() -> None:
        link, _ = listener.accept()
        with link, socket.create_connection(("127.0.0.1", port)) as further:
            back = threading.Thread(target=pump, args=(further, link, None))
            back.start()
            pump(link, further, seen)
            back.join()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listener.getsockname()[1], seen
    finally:
        thread.join(5)
        listener.close()


def records(data: bytes) -> list[Record]:
    """The TLS records in these bytes (RFC 8446, 5.1)."""
    found, at = [], 0
    while at < len(data):
        size = int.from_bytes(data[at + 3 : at + 5], "big")
        found.append((data[at], bytes(data[at : at + 5]), bytes(data[at + 5 : at + 5 + size])))
        at += 5 + size
    return found


def expand(secret: bytes, label: str, size: int) -> bytes:
    """HKDF-Expand-Label without a context, RFC 8446, 7.1."""
    name = b"tls13 " + label.encode()
    info = size.to_bytes(2, "big") + bytes([len(name)]) + name + b"\0"
    return HKDFExpand(hashes.SHA384(), size, info).derive(secret)


def decrypted(secret: bytes, sent: list[Record]) -> list[bytes]:
    """The plain text of records of TLS_AES_256_GCM_SHA384 that were protected with `secret`; skips other records."""
    key, start = expand(secret, "key", 32), expand(secret, "iv", 12)
    plain: list[bytes] = []
    for kind, header, fragment in sent:
        if kind != APPLICATION_DATA:
            continue
        nonce = bytes(a ^ b for a, b in zip(start, len(plain).to_bytes(12, "big"), strict=True))
        with suppress(Exception):  # a record of the handshake has other keys
            plain.append(AESGCM(key).decrypt(nonce, fragment, header).rstrip(b"\0")[:-1])
    return plain


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    write_tls_certificates(folder)
    return folder


def talk(folder: Path, log: Path, version: ssl.TLSVersion) -> list[Record]:
    """The TLS records that kw's context sends for a message, with SSLKEYLOGFILE set to `log`."""
    told = [("security.protocol", "SSL"), ("ssl.ca.location", str(folder / "ca.pem"))]
    tls = build_client_config(
        world(variables={"SSLKEYLOGFILE": str(log), "HOME": str(folder)}), ConnectionOptions(properties=told)
    ).tls
    assert tls is not None
    context = server_context(folder / "broker.pem")
    context.minimum_version = context.maximum_version = version
    with (
        TlsServer(context) as server,
        tap(server.port) as (port, seen),
        socket.create_connection(("127.0.0.1", port), 5) as link,
        make_client_context(tls).wrap_socket(link, server_hostname="localhost") as wrapped,
    ):
        wrapped.sendall(MESSAGE)
        assert wrapped.recv(100) == b"nobody"
    return records(bytes(seen))


def keys(log: Path) -> dict[str, tuple[bytes, bytes]]:
    """The secrets in a key log: label → client random and secret."""
    lines = [line.split() for line in log.read_text().splitlines() if not line.startswith("#")]
    return {label: (bytes.fromhex(random), bytes.fromhex(secret)) for label, random, secret in lines}


def test_what_was_sent_can_be_decrypted(folder: Path, tmp_path: Path) -> None:
    log = tmp_path / "keys.log"
    sent = talk(folder, log, ssl.TLSVersion.TLSv1_3)
    assert log.stat().st_mode & 0o777 == 0o600
    hello = sent[0]
    assert hello[0] == HANDSHAKE
    random, secret = keys(log)["CLIENT_TRAFFIC_SECRET_0"]
    assert hello[2][6:38] == random
    assert decrypted(secret, sent)[0] == MESSAGE
    assert not any(MESSAGE in fragment for _, _, fragment in sent)


def test_the_secret_of_tls_1_2_is_that_of_the_connection(folder: Path, tmp_path: Path) -> None:
    log = tmp_path / "keys.log"
    sent = talk(folder, log, ssl.TLSVersion.TLSv1_2)
    random, secret = keys(log)["CLIENT_RANDOM"]
    assert sent[0][2][6:38] == random
    assert len(secret) == 48


def test_a_log_is_added_to(folder: Path, tmp_path: Path) -> None:
    log = tmp_path / "keys.log"
    log.write_text("# mine\n")
    for _ in range(2):
        talk(folder, log, ssl.TLSVersion.TLSv1_3)
    lines = log.read_text().splitlines()
    assert lines[0] == "# mine"
    assert sum(line.startswith("CLIENT_TRAFFIC_SECRET_0 ") for line in lines) == 2


def test_without_the_variable_there_is_no_log(folder: Path) -> None:
    store = KeyStoreFile(str(folder / "ca.pem"))
    assert make_client_context(TlsSettings(authorities=store)).keylog_filename is None


def test_a_pipe_that_nobody_reads_does_not_hold_up_the_command(tmp_path: Path) -> None:
    pipe = tmp_path / "keys"
    os.mkfifo(pipe)
    with pytest.raises(Failure) as caught:
        make_client_context(TlsSettings(key_log=str(pipe)))
    assert (caught.value.text, caught.value.code) == (
        f"SSLKEYLOGFILE {pipe} cannot be written: nobody reads this pipe",
        Exit.USAGE,
    )
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert make_client_context(TlsSettings(key_log=str(pipe))).keylog_filename == str(pipe)
    os.close(reader)
