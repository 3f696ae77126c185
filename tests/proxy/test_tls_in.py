"""TLS towards clients: the authority in the state folder, minted and given certificates, failed handshakes."""

from __future__ import annotations

import socket
import ssl
import stat
import threading
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from kwcli.net.tls.issue_certificates import issue_authority
from kwcli.playground.tls_certificates import write_tls_certificates
from kwcli.proxy.tls import listener_tls_contexts
from kwcli.proxy.tls.certificate_authority import find_state_folder, read_or_make_authority
from kwcli.proxy.tls.listener_tls_contexts import Inbound, TlsIn
from kwcli.run_environment import Exit, Failure


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {"XDG_STATE_HOME": str(tmp_path_factory.mktemp("state"))}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    write_tls_certificates(folder)
    write_tls_certificates(folder / "other")
    return folder


class Door:
    """One handshake with the proxy's context; `error` is the error on its side, `peer` the client's certificate."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self.error: BaseException | None = None
        self.peer: Any = None
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, args=(context,))
        self._thread.start()

    def _serve(self, context: ssl.SSLContext) -> None:
        link, _ = self._listener.accept()
        link.settimeout(5)
        try:
            with context.wrap_socket(link, server_side=True) as wrapped:
                self.peer = wrapped.getpeercert()
                wrapped.sendall(wrapped.recv(5))
        except OSError as error:
            self.error = error
            link.close()

    def end(self) -> BaseException | None:
        self._thread.join(5)
        self._listener.close()
        return self.error


def client(ca: Path | None, own: Path | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=None if ca is None else str(ca))
    if own is not None:
        context.load_cert_chain(own)
    return context


def shake(context: ssl.SSLContext, door: Door, name: str) -> Any:
    """The certificate that the proxy shows. Raises OSError as the client sees it."""
    with (
        socket.create_connection(("127.0.0.1", door.port), 5) as link,
        context.wrap_socket(link, server_hostname=name) as wrapped,
    ):
        wrapped.sendall(b"hello")
        assert wrapped.recv(5) == b"hello"
        return wrapped.getpeercert()


def test_an_authority_is_made_once_and_only_its_owner_may_read_its_key(tmp_path: Path) -> None:
    folder = tmp_path / "kw" / "proxy"
    first = read_or_make_authority(folder)
    assert stat.S_IMODE((folder / "authority.pem").stat().st_mode) == 0o600
    assert b"PRIVATE" not in first.path.read_bytes()
    again = read_or_make_authority(folder)
    assert again.issued.certificate == first.issued.certificate
    assert x509.load_pem_x509_certificate(first.path.read_bytes()) == first.issued.certificate
    assert sorted(path.name for path in folder.iterdir()) == ["authority.pem", "ca.pem"]


def test_proxies_that_start_together_share_one_authority(tmp_path: Path) -> None:
    found = []
    threads = [threading.Thread(target=lambda: found.append(read_or_make_authority(tmp_path / "kw"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({each.issued.certificate.serial_number for each in found}) == 1
    assert len(found) == 8


def test_an_authority_that_others_may_read_is_not_used(tmp_path: Path) -> None:
    read_or_make_authority(tmp_path)
    (tmp_path / "authority.pem").chmod(0o640)
    with pytest.raises(Failure, match=r"other users may read .*authority\.pem.*chmod 600") as failure:
        read_or_make_authority(tmp_path)
    assert failure.value.code is Exit.USAGE


def test_a_broken_authority_is_named(tmp_path: Path) -> None:
    read_or_make_authority(tmp_path)
    (tmp_path / "authority.pem").write_text("nothing")
    with pytest.raises(Failure, match=r"authority\.pem holds no key and certificate; remove it"):
        read_or_make_authority(tmp_path)


@pytest.mark.parametrize("mode", [0o601, 0o602, 0o604, 0o610, 0o620])
def test_no_bit_of_others_may_be_set(tmp_path: Path, mode: int) -> None:
    read_or_make_authority(tmp_path)
    (tmp_path / "authority.pem").chmod(mode)
    with pytest.raises(Failure, match="other users may read"):
        read_or_make_authority(tmp_path)
    (tmp_path / "authority.pem").chmod(0o700)
    read_or_make_authority(tmp_path)


def test_a_key_of_another_certificate_is_named(tmp_path: Path) -> None:
    path = tmp_path / "authority.pem"
    read_or_make_authority(tmp_path)
    other = issue_authority("other")
    rsa_key = rsa.generate_private_key(65537, 2048)
    as_text = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    for key in (other.key_pem, rsa_key.private_bytes(*as_text)):
        path.write_bytes(key + path.read_bytes().partition(b"-----END PRIVATE KEY-----\n")[2])
        with pytest.raises(Failure) as failure:
            read_or_make_authority(tmp_path)
        assert failure.value.text == f"the key in {path} is not its certificate's; remove it, and kw makes a new one"
        assert failure.value.code is Exit.USAGE


def test_an_authority_is_not_used_in_its_last_month(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    end = read_or_make_authority(tmp_path).issued.certificate.not_valid_after_utc
    now = end - timedelta(days=30)
    monkeypatch.setattr("kwcli.proxy.tls.certificate_authority.datetime", SimpleNamespace(now=lambda _: now))
    read_or_make_authority(tmp_path)
    now += timedelta(seconds=1)
    with pytest.raises(Failure) as failure:
        read_or_make_authority(tmp_path)
    assert failure.value.text == (
        f"the authority in {tmp_path}/authority.pem ends on {end:%Y-%m-%d}; "
        "remove it, and kw makes a new one for clients to trust"
    )


def test_what_clients_trust_is_written_again_where_it_differs(tmp_path: Path) -> None:
    public = read_or_make_authority(tmp_path / "kw").path
    assert stat.S_IMODE(public.stat().st_mode) == 0o644
    assert stat.S_IMODE(public.parent.stat().st_mode) == 0o700
    written = public.read_bytes()
    file = public.stat().st_ino
    assert read_or_make_authority(tmp_path / "kw").path.stat().st_ino == file
    public.write_text("other")
    assert read_or_make_authority(tmp_path / "kw").path.read_bytes() == written
    public.unlink()
    public.mkdir()
    with pytest.raises(Failure, match=r"kw/ca\.pem\w* cannot be used: Is a directory"):
        read_or_make_authority(tmp_path / "kw")
    assert sorted(path.name for path in public.parent.iterdir()) == ["authority.pem", "ca.pem"]


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Failure) as failure:
        read_or_make_authority(tmp_path / "file" / "kw")
    assert failure.value.text == f"{tmp_path}/file/kw cannot be used: Not a directory"
    assert failure.value.code is Exit.USAGE


def test_where_the_state_is() -> None:
    assert find_state_folder({"XDG_STATE_HOME": "/s"}) == Path("/s/kw/proxy")
    assert find_state_folder({"HOME": "/h"}) == Path("/h/.local/state/kw/proxy")


@pytest.mark.parametrize(
    "name", ["proxy.example", "localhost", "127.0.0.1", "10.1.2.3", "alias.example", "kafka-1.invalid"]
)
def test_minted_certificates_are_good_for_what_is_advertised_and_for_what_clients_ask_for(
    state: dict[str, str], name: str
) -> None:
    tls = Inbound(TlsIn(), ["proxy.example", "10.1.2.3"], state)
    door = Door(tls.context_for_next_connection)
    shown = shake(client(tls.trust_file), door, name)
    assert door.end() is None
    kind = "IP Address" if name[0].isdigit() else "DNS"
    assert (kind, name) in shown["subjectAltName"]


def test_a_minted_certificate_is_used_until_it_is_renewed(
    state: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tls = Inbound(TlsIn(), ["proxy.example"], state)
    first = tls.context_for_next_connection
    assert tls.context_for_next_connection is first
    monkeypatch.setattr(listener_tls_contexts, "_RENEWED", listener_tls_contexts._LIFETIME)
    assert tls.context_for_next_connection is not first


def test_made_up_names_fill_no_memory(state: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener_tls_contexts, "_NAMES_MAX", 3)
    tls = Inbound(TlsIn(), ["proxy.example"], state)
    for number in range(5):
        door = Door(tls.context_for_next_connection)
        shake(client(tls.trust_file), door, f"n{number}.example")
        door.end()
    assert len(tls._minted) <= 3


def test_a_given_certificate_and_clients_that_have_to_show_one(state: dict[str, str], files: Path) -> None:
    asked = TlsIn(str(files / "broker.crt"), str(files / "broker.key"), str(files / "ca.pem"))
    tls = Inbound(asked, ["proxy.example"], state)
    assert tls.trust_file is None
    assert tls.requires_client_certificates
    door = Door(tls.context_for_next_connection)
    shake(client(files / "ca.pem", files / "client.pem"), door, "localhost")
    assert door.end() is None
    assert door.peer["subject"] == ((("commonName", "client"),),)


def test_what_clients_are_told(state: dict[str, str]) -> None:
    tls = Inbound(TlsIn(), ["proxy.example"], state)
    path = f"{state['XDG_STATE_HOME']}/kw/proxy/ca.pem"
    assert tls.format_client_settings() == [
        f"librdkafka   security.protocol=SSL ssl.ca.location={path}",
        f"Java         security.protocol=SSL ssl.truststore.type=PEM ssl.truststore.location={path}",
    ]


def test_keys_are_logged_for_those_who_ask(state: dict[str, str], tmp_path: Path) -> None:
    log = tmp_path / "keys"
    tls = Inbound(TlsIn(), ["proxy.example"], {**state, "SSLKEYLOGFILE": str(log)})
    door = Door(tls.context_for_next_connection)
    shake(client(tls.trust_file), door, "proxy.example")
    door.end()
    assert b"CLIENT_TRAFFIC_SECRET_0" in log.read_bytes()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (TlsIn(key="broker.key"), "--tls-key without --tls-cert"),
        (TlsIn("broker.crt"), r"key store .*broker\.crt has no key in it"),
        (TlsIn("broker.crt", "other/broker.key"), "the proxy's key does not belong to its certificate"),
        (TlsIn("missing.pem"), r"key store .*missing\.pem cannot be read: No such file"),
        (TlsIn(clients="broker.key"), r"trust store .*broker\.key has no certificate in it"),
    ],
)
def test_files_that_do_not_serve(state: dict[str, str], files: Path, asked: TlsIn, reason: str) -> None:
    certificate, key, clients = (str(files / each) if each else None for each in asked[:3])
    asked = TlsIn(certificate, key, clients)
    with pytest.raises(Failure, match=reason) as failure:
        Inbound(asked, ["proxy.example"], state)
    assert failure.value.code is Exit.USAGE


@pytest.mark.parametrize(
    ("context", "bytes_", "reason"),
    [
        ("distrusting", b"", "does not trust the proxy's certificate; give it ssl.ca.location="),
        ("none", b"\0\0\0\x2e\0\x12\0\x04\0\0\0\1" + b"x" * 40, "does not speak TLS, which --tls-in requires"),
        ("none", b"GET / HTTP/1.1\r\n\r\n", "speaks HTTP to a listener"),
        ("none", b"", "closed the connection during the TLS handshake"),
        ("old", b"", "speaks no version of TLS from 1.2 on"),
    ],
)
@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1:DeprecationWarning")
def test_why_a_handshake_fails(state: dict[str, str], files: Path, context: str, bytes_: bytes, reason: str) -> None:
    tls = Inbound(TlsIn(), ["proxy.example"], state)
    door = Door(tls.context_for_next_connection)
    if context == "none":
        with socket.create_connection(("127.0.0.1", door.port), 5) as link:
            link.sendall(bytes_)
            with suppress(OSError):  # it may have been refused already
                link.shutdown(socket.SHUT_WR)
            with suppress(OSError):
                link.recv(100)
    else:
        made = client(files / "ca.pem" if context == "distrusting" else tls.trust_file)
        if context == "old":
            made.minimum_version = ssl.TLSVersion.TLSv1_1
            made.maximum_version = ssl.TLSVersion.TLSv1_1
            made.set_ciphers("ALL:@SECLEVEL=0")
        with pytest.raises(OSError):  # noqa: PT011  # whichever end it is, the proxy's side is what counts
            shake(made, door, "proxy.example")
    error = door.end()
    assert error is not None
    assert tls.explain_failed_handshake(error).startswith(reason)


@pytest.mark.parametrize(
    ("own", "reason"),
    [
        (None, "shows no certificate, which --tls-client-ca asks for"),
        ("other/client.pem", "shows a certificate that --tls-client-ca did not sign ("),
    ],
)
def test_clients_without_the_right_certificate(
    state: dict[str, str], files: Path, own: str | None, reason: str
) -> None:
    tls = Inbound(TlsIn(clients=str(files / "ca.pem")), ["proxy.example"], state)
    door = Door(tls.context_for_next_connection)
    with pytest.raises(OSError):  # noqa: PT011  # an alert, or a reset
        shake(client(tls.trust_file, files / own if own else None), door, "localhost")
    error = door.end()
    assert error is not None
    assert tls.explain_failed_handshake(error).startswith(reason)
