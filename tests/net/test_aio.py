"""Dialling and greeting under asyncio: plain and TLS, by other names, and the lines for errors."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
import uvloop

from kwcli.net.config.client_config import ClientConfig, KeyStoreFile, OAuthSettings, SaslSettings, TlsSettings
from kwcli.net.session.open_asyncio_connections import AcceptingServer, Dialler, Logins, make_prepare_without_head
from kwcli.playground.tls_certificates import write_tls_certificates
from kwcli.run_environment import Exit, Failure
from tests.net.responder import unheard_address
from tests.net.tls_server import TlsServer, server_context

Outcome = TypeVar("Outcome")
Run = Callable[[Coroutine[Any, Any, Outcome]], Outcome]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    write_tls_certificates(folder)
    return folder


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Iterator[Run[Any]]:
    with asyncio.Runner(loop_factory=request.param) as runner:
        yield runner.run


class Echo(asyncio.Protocol):
    """A server that sends everything back twice."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        assert self.transport is not None
        self.transport.write(data * 2)


class Listening(asyncio.Protocol):
    def __init__(self) -> None:
        self.heard: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        if not self.heard.done():
            self.heard.set_result(data)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.heard.done():
            self.heard.set_exception(exc or EOFError())


async def ask(config: ClientConfig, address: tuple[str, int], said: bytes = b"kw") -> bytes:
    protocol = Listening()
    transport = await Dialler(config).dial(address, lambda: protocol)
    transport.write(said)
    try:
        return await asyncio.wait_for(protocol.heard, 20)
    finally:
        transport.abort()
        await asyncio.sleep(0.01)


async def served(config: ClientConfig, host: str, context: ssl.SSLContext | None = None, **more: Any) -> bytes:
    """The answer of an echo server that is reached as `host`."""
    server = await asyncio.get_running_loop().create_server(Echo, "127.0.0.1", 0, ssl=context)
    port = server.sockets[0].getsockname()[1]
    mapped = {(host, 1): ("127.0.0.1", port)}
    try:
        return await ask(config._replace(dial_map=mapped, **more), (host, 1))
    finally:
        server.close()


def config(**more: Any) -> ClientConfig:
    return ClientConfig((("localhost", 1),), connect_timeout_s=60.0, **more)


def test_plain(run: Run[Any]) -> None:
    assert run(served(config(), "127.0.0.1")) == b"kwkw"


def test_the_certificate_is_held_against_the_broker_s_own_name(run: Run[Any], files: Path) -> None:
    tls = TlsSettings(authorities=KeyStoreFile(str(files / "ca.pem")))
    assert run(served(config(protocol="SSL", tls=tls), "localhost", server_context(files / "broker.pem"))) == b"kwkw"
    with pytest.raises(Failure, match=r"kafka-1.invalid:1 \(dialled 127.0.0.1:\d+\) has a certificate for another"):
        run(served(config(protocol="SSL", tls=tls), "kafka-1.invalid", server_context(files / "broker.pem")))


def test_nobody_s_word_is_taken_for_it(run: Run[Any], files: Path) -> None:
    with pytest.raises(Failure, match="that this system's authorities did not sign"):
        run(served(config(protocol="SSL", tls=TlsSettings()), "localhost", server_context(files / "broker.pem")))


def test_a_client_certificate_is_shown(run: Run[Any], files: Path) -> None:
    tls = TlsSettings(KeyStoreFile(str(files / "ca.pem")), KeyStoreFile(str(files / "client.pem")))
    context = server_context(files / "broker.pem", files / "ca.pem")
    assert run(served(config(protocol="SSL", tls=tls), "localhost", context)) == b"kwkw"


def test_a_missing_client_certificate_is_told_when_the_broker_says_so(run: Run[Any], files: Path) -> None:
    settings = config(protocol="SSL", tls=TlsSettings(KeyStoreFile(str(files / "ca.pem"))))
    with (
        TlsServer(server_context(files / "broker.pem", files / "ca.pem")) as server,
        pytest.raises(OSError) as error,  # noqa: PT011  # of what kind is what is tested
    ):
        run(ask(settings._replace(dial_map={("localhost", 1): ("127.0.0.1", server.port)}), ("localhost", 1), b""))
    told = Dialler(settings).describe_tls_alert(("localhost", 1), error.value)
    assert told is not None
    assert told.startswith("localhost:1 wants a client certificate")


def test_a_plain_broker_where_tls_is_wanted(run: Run[Any], files: Path) -> None:
    tls = TlsSettings(KeyStoreFile(str(files / "ca.pem")))
    with pytest.raises(Failure, match=r"does not speak TLS; try -X security.protocol=PLAINTEXT"):
        run(served(config(protocol="SSL", tls=tls), "localhost"))


def test_nobody_is_there(run: Run[Any]) -> None:
    refused = r"127.0.0.1:\d+ refused the connection; is the broker running"
    with unheard_address() as address, pytest.raises(Failure, match=refused) as failure:
        run(ask(config(), address))
    assert failure.value.code is Exit.UNREACHABLE


def test_a_name_that_nobody_knows(run: Run[Any]) -> None:
    with pytest.raises(Failure, match=r"kafka-1.invalid:9092: no address for 'kafka-1.invalid'"):
        run(ask(config(), ("kafka-1.invalid", 9092)))


@pytest.mark.parametrize(
    "sasl", [SaslSettings("PLAIN", "alice", "secret"), SaslSettings("OAUTHBEARER", oauth=OAuthSettings(token="t.t.t"))]
)
def test_mechanisms_have_their_first_message(run: Run[Any], sasl: SaslSettings) -> None:
    logins = Logins(config(protocol="SASL_PLAINTEXT", sasl=sasl))
    made = run(logins.make_mechanism(("localhost", 1)))
    assert made.name == sasl.mechanism
    assert made.make_first_token()
    assert not made.done


def test_credentials_that_cannot_be_had(run: Run[Any], tmp_path: Path) -> None:
    missing = OAuthSettings(endpoint=f"file://{tmp_path}/token")
    logins = Logins(config(protocol="SASL_PLAINTEXT", sasl=SaslSettings("OAUTHBEARER", oauth=missing)))
    with pytest.raises(Failure, match="token cannot be read: No such file"):
        run(logins.make_mechanism(("localhost", 1)))


async def greeted(
    context: ssl.SSLContext, config: ClientConfig, timeout_s: float = 60.0
) -> tuple[bytes | None, list[BaseException]]:
    """The bytes that a client gets from an echo server behind TLS, and the server's errors for clients that failed."""
    failures: list[BaseException] = []
    failed = asyncio.Event()

    def fail(_peer: str, error: BaseException) -> None:
        failures.append(error)
        failed.set()

    sock = socket.create_server(("127.0.0.1", 0))
    sock.setblocking(False)
    server = AcceptingServer(sock, lambda: context, make_prepare_without_head(Echo), fail, timeout_s=timeout_s)
    answer = None
    try:
        answer = await ask(config, ("localhost", sock.getsockname()[1]))
    except (OSError, EOFError):
        await asyncio.wait_for(failed.wait(), 20)
    finally:
        server.close()
        await asyncio.sleep(0.01)
    return answer, failures


def test_clients_are_greeted_and_nothing_of_theirs_is_lost(run: Run[Any], files: Path) -> None:
    tls = TlsSettings(KeyStoreFile(str(files / "ca.pem")))
    for _ in range(20):
        assert run(greeted(server_context(files / "broker.pem"), config(protocol="SSL", tls=tls))) == (b"kwkw", [])


@pytest.mark.long
def test_clients_that_speak_no_tls_are_told_of(run: Run[Any], files: Path) -> None:
    answer, (failure,) = run(greeted(server_context(files / "broker.pem"), config(), timeout_s=2.0))
    assert answer is None
    assert isinstance(failure, OSError)
