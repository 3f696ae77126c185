"""Conversations of OpenSSL with itself, in memory: the bytes of both sides on the wire, and their key log.

Run as a program it writes one conversation to standard output: the suites of TLS 1.3 are set in a file that OpenSSL
reads once per process.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal

from decoders.tcp.connection_and_halves import Connection
from decoders.tcp.stream_chunks import Chunk, Close, Gap
from decoders.tls.decrypt_chunks import Decryption
from decoders.tls.key_log import KeyLog
from tests.net.certificates import make_self_signed

SECOND: Final = 10**9
CLIENT: Final = "10.0.0.1:50000"
SERVER: Final = "10.0.0.2:9093"


@dataclass
class Conversation:
    """`wire` has the bytes on the wire: from the client or not, bytes. `said` has the applications' bytes."""

    wire: list[tuple[bool, bytes]] = field(default_factory=list)
    key_log: bytes = b""
    said: list[tuple[bool, bytes]] = field(default_factory=list)
    version: str = ""
    cipher: str = ""
    session: Any = None

    def sent(self, client: bool) -> bytes:
        """All bytes of one side's application."""
        return b"".join(data for first, data in self.said if first is client)

    def stream(self, client: bool) -> bytes:
        """All bytes that one side put on the wire."""
        return b"".join(data for first, data in self.wire if first is client)


@lru_cache
def certificates() -> Path:
    """A folder with certificates for this run: an authority's, a server's and a client's."""
    folder = Path(tempfile.mkdtemp(prefix="kw-tls-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    kinds: dict[str, Literal["ec", "rsa"]] = {"ec": "ec", "rsa": "rsa", "client": "ec"}
    for name, kind in kinds.items():
        made = make_self_signed(name, kind)
        (folder / f"{name}.key").write_bytes(made.key)
        (folder / f"{name}.pem").write_bytes(made.pem)
    return folder


class Talk:
    """A client and a server of OpenSSL, joined in memory."""

    def __init__(
        self,
        *,
        version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3,
        ciphers: str = "",
        key: str = "ec",
        client_certificate: bool = False,
        session: Any = None,
        contexts: tuple[ssl.SSLContext, ssl.SSLContext] | None = None,
        folder: Path | None = None,
        alpn: Sequence[str] = (),
        tickets: bool = True,
    ) -> None:
        folder = folder or certificates()
        descriptor, name = tempfile.mkstemp(prefix="keys-", dir=folder)
        os.close(descriptor)
        self.log_file = Path(name)
        if contexts is None:
            server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            server.load_cert_chain(folder / f"{key}.pem", folder / f"{key}.key")
            client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            client.check_hostname = False
            client.verify_mode = ssl.CERT_NONE
            for context in (client, server):
                context.minimum_version = min(version, ssl.TLSVersion.TLSv1_2)
                context.maximum_version = version
                if ciphers:
                    context.set_ciphers(ciphers)
                if not tickets:
                    context.options |= ssl.OP_NO_TICKET
                if alpn:
                    context.set_alpn_protocols(list(alpn))
            if client_certificate:
                client.load_cert_chain(folder / "client.pem", folder / "client.key")
                server.verify_mode = ssl.CERT_REQUIRED
                server.load_verify_locations(folder / "client.pem")
            contexts = (client, server)
        self.contexts = contexts
        contexts[0].keylog_filename = str(self.log_file)
        bios = [ssl.MemoryBIO() for _ in range(4)]
        self._client_in, self._client_out, self._server_in, self._server_out = bios
        self.client = contexts[0].wrap_bio(bios[0], bios[1], server_hostname="kafka1.example", session=session)
        self.server = contexts[1].wrap_bio(bios[2], bios[3], server_side=True)
        self.conversation = Conversation()
        self._shake()

    def _shake(self) -> None:
        ends = [self.client, self.server]
        while ends:
            for end in ends[:]:
                try:
                    end.do_handshake()
                    ends.remove(end)
                except ssl.SSLWantReadError:
                    pass
                self.pump()
        self._read(self.client)  # session tickets

    def _read(self, end: ssl.SSLObject) -> bytes:
        data = b""
        try:
            while piece := end.read(1 << 16):
                data += piece
        except ssl.SSLWantReadError:
            pass
        return data

    def pump(self) -> None:
        """Move waiting bytes to the other side."""
        for first, out, into in (
            (True, self._client_out, self._server_in),
            (False, self._server_out, self._client_in),
        ):
            data = out.read()
            if data:
                self.conversation.wire.append((first, data))
                into.write(data)

    def say(self, client: bool, data: bytes) -> None:
        """Send bytes from one side, and read them on the other."""
        (self.client if client else self.server).write(data)
        self.pump()
        assert self._read(self.server if client else self.client) == data
        self.conversation.said.append((client, data))

    def end(self) -> Conversation:
        """Both sides close TLS; gives the conversation."""
        for end in (self.client, self.server):
            with suppress(ssl.SSLWantReadError):
                end.unwrap()
            self.pump()
        made = self.conversation
        made.version = self.client.version() or ""
        made.cipher = (self.client.cipher() or ("", "", 0))[0]
        made.session = self.client.session
        made.key_log = self.log_file.read_bytes()
        self.log_file.unlink()
        return made


def converse(said: Iterable[tuple[bool, bytes]], **options: Any) -> Conversation:
    """A complete conversation of these bytes."""
    talk = Talk(**options)
    for client, data in said:
        talk.say(client, data)
    return talk.end()


def converse_13(said: Iterable[tuple[bool, bytes]], suite: str) -> Conversation:
    """A complete conversation in TLS 1.3 with one of its suites."""
    folder = certificates()
    settings = folder / f"{suite}.cnf"
    settings.write_text(
        "openssl_conf = a\n[a]\nssl_conf = b\n[b]\nsystem_default = c\n"
        f"[c]\nCiphersuites = {suite}\nCipherString = ALL:@SECLEVEL=0\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "tests.tls.conversations", str(folder)],
        input=json.dumps([[client, data.hex()] for client, data in said]),
        env={**os.environ, "OPENSSL_CONF": str(settings), "PYTHONPATH": "."},
        capture_output=True,
        text=True,
        check=True,
    )
    made = json.loads(done.stdout)
    wire = [(client, bytes.fromhex(data)) for client, data in made["wire"]]
    return Conversation(wire, made["key_log"].encode(), list(said), made["version"], made["cipher"])


def chunks_of(
    wire: Iterable[tuple[bool, bytes | Gap]], *, size: int = 1 << 20, opened: bool = True, number: int = 1
) -> list[Chunk]:
    """The chunks of one connection, none longer than `size`, then a Close; `number` is also its second."""
    begun_ns = number * SECOND
    connection = Connection(number, CLIENT, SERVER, begun_ns, opened=opened)
    chunks: list[Chunk] = []
    packet = 3
    for client, data in wire:
        half = connection.first if client else connection.second
        pieces = [data[at : at + size] for at in range(0, len(data), size)] if isinstance(data, bytes) else [data]
        for piece in pieces:
            packet += 1
            chunks.append((half, begun_ns + packet * 1000, packet, piece))
    chunks.append((connection.first, begun_ns + SECOND, packet + 1, Close("fin")))
    return chunks


def keys_of(*texts: bytes, grows: bool = False) -> KeyLog:
    """A key log of these lines."""
    keys = KeyLog(grows=grows)
    for text in texts:
        keys.add_lines(text)
    return keys


def decrypted(chunks: list[Chunk], keys: KeyLog) -> list[Chunk]:
    """The chunks of a new decryption stage."""
    stage = Decryption(keys)
    return [*stage.feed(chunks), *stage.finish()]


def content(chunks: Iterable[Chunk], client: bool) -> bytes:
    """The bytes that one side sent, from chunks."""
    return b"".join(
        data for half, _, _, data in chunks if isinstance(data, bytes) and (half.source == CLIENT) is client
    )


def main() -> None:
    said = [(client, bytes.fromhex(data)) for client, data in json.load(sys.stdin)]
    made = converse(said, folder=Path(sys.argv[1]))
    wire = [[client, data.hex()] for client, data in made.wire]
    row = {"wire": wire, "key_log": made.key_log.decode(), "version": made.version, "cipher": made.cipher}
    sys.stdout.write(json.dumps(row))


if __name__ == "__main__":
    main()
