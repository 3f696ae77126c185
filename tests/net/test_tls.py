"""Certificates and keys of every kind in a real handshake; each wrong setting has its own line."""

from __future__ import annotations

import hashlib
import os
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from kwcli.net.config.client_config import KeyStoreFile, TlsSettings
from kwcli.net.tls import read_pem_and_jks
from kwcli.net.tls_connect import make_client_context, translate_ciphers
from kwcli.playground.tls_certificates import write_tls_certificates
from kwcli.run_environment import Exit, Failure
from tests.net.certificates import KEY, OPEN_STORE, STORE, make_stores
from tests.net.tls_server import TlsServer, connect, server_context, stop

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stores")
    make_stores(folder)
    write_tls_certificates(folder / "other")
    (folder / "ca.der").write_bytes(ssl.PEM_cert_to_DER_cert((folder / "ca.pem").read_text()))
    for name in ("ca.pem", "client.key"):
        (folder / "folder").mkdir(exist_ok=True)
        (folder / "folder" / name).write_bytes((folder / name).read_bytes())
    (folder / "empty-folder").mkdir()
    return folder


def one_line(text: str) -> str:
    """A PEM text on one line, as in a property file."""
    return text.strip().replace("\n", " ")


@pytest.mark.parametrize(
    "store",
    [
        KeyStoreFile("ca.pem"),
        KeyStoreFile("trust.jks", password=STORE),
        KeyStoreFile("trust.jks"),  # certificates need no password
        KeyStoreFile("trust.pkcs12", password=STORE),
        KeyStoreFile("broker.crt"),  # the broker's own certificate, trusted directly
        KeyStoreFile("ca.der"),
        KeyStoreFile("folder"),
    ],
    ids=lambda store: f"{store.path} {store.password}",
)
def test_authorities_of_every_kind(stores: Path, store: KeyStoreFile) -> None:
    tls = TlsSettings(authorities=store._replace(path=str(stores / (store.path or ""))))
    with TlsServer(server_context(stores / "broker.pem")) as server:
        assert connect(server.port, tls) == "nobody"
        assert server.server_name == "localhost"


def text_store(name: str, folder: Path, spelling: str, **more: Any) -> KeyStoreFile:
    text = (folder / name).read_text()
    return KeyStoreFile(
        pem={"lines": text, "blanks": one_line(text), "escapes": text.replace("\n", "\\n")}[spelling], **more
    )


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("certificate", "key", "password", "key_password"),
    [
        ("client.pem", None, None, None),
        ("client.crt", "client.key", None, None),
        ("client.crt", "locked.key", None, KEY),
        ("client.crt", "old-locked.key", None, KEY),
        ("client.p12", None, STORE, None),
        ("client.p12", None, STORE, KEY),
        ("old.p12", None, STORE, None),
        (OPEN_STORE, None, "", None),
        ("client.jks", None, STORE, KEY),
    ],
)
@pytest.mark.parametrize("memory", [True, False])
def test_a_client_certificate_of_every_kind(
    stores: Path,
    certificate: str,
    key: str | None,
    password: str | None,
    key_password: str | None,
    memory: bool,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    if certificate == OPEN_STORE and not (stores / OPEN_STORE).exists():
        pytest.skip("needs the program openssl, which makes a store with an empty password")
    if not memory:
        monkeypatch.delattr(os, "memfd_create")
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    own = KeyStoreFile(str(stores / certificate), password=password, key_password=key_password)
    other = KeyStoreFile(str(stores / key), key_password=key_password) if key else None
    tls = TlsSettings(authorities=KeyStoreFile(str(stores / "ca.pem")), certificate=own, key=other)
    with TlsServer(server_context(stores / "broker.pem", stores / "ca.pem")) as server:
        assert connect(server.port, tls) == "client"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("spelling", ["lines", "blanks", "escapes"])
def test_certificates_and_keys_as_text(stores: Path, spelling: str) -> None:
    tls = TlsSettings(
        authorities=text_store("ca.pem", stores, spelling),
        certificate=text_store("client.crt", stores, spelling),
        key=text_store("locked.key", stores, spelling, key_password=KEY),
    )
    with TlsServer(server_context(stores / "broker.pem", stores / "ca.pem")) as server:
        assert connect(server.port, tls) == "client"


def test_a_key_in_a_file_is_locked_and_the_owners_alone(
    stores: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen = []
    real = ssl.SSLContext.load_cert_chain

    def looking(self: ssl.SSLContext, path: str, password: str) -> None:
        seen.append((Path(path).stat().st_mode & 0o777, Path(path).read_text()))
        real(self, path, password=password)

    monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", looking)
    make_client_context(TlsSettings(certificate=KeyStoreFile(str(stores / "client.pem"))))
    [(mode, text)] = seen
    assert mode == 0o600
    assert "BEGIN ENCRYPTED PRIVATE KEY" in text
    assert "BEGIN PRIVATE KEY" not in text


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("tls", "line"),
    [
        ({"authorities": KeyStoreFile("none.pem")}, "trust store none.pem cannot be read: No such file or directory"),
        (
            {"authorities": KeyStoreFile("empty")},
            "trust store empty holds neither certificates nor a key as PEM, PKCS12 or JKS",
        ),
        (
            {"authorities": KeyStoreFile(pem="hunter2")},
            "the trust store given as text holds neither certificates nor a key as P",
        ),
        ({"authorities": KeyStoreFile("client.key")}, "trust store client.key has no certificate in it"),
        (
            {"authorities": KeyStoreFile("trust.jks", password="hunter2")},
            "trust store trust.jks: the password is wrong, or the "
            "store is damaged; give it by -X ssl.truststore.password=…",
        ),
        (
            {"authorities": KeyStoreFile("trust.pkcs12")},
            "trust store trust.pkcs12: it needs a password; give it by -X ssl.truststor",
        ),
        ({"authorities": KeyStoreFile("cut.p12", password=STORE)}, "trust store cut.p12: "),
        (
            {"authorities": KeyStoreFile("empty-folder")},
            "trust store empty-folder: no file in this folder has a certificate in P",
        ),
        (
            {"certificate": KeyStoreFile("ca.der")},
            "key store ca.der has no key in it; name it by -X ssl.key.location=FILE",
        ),
        ({"authorities": KeyStoreFile("cut.jks")}, "trust store cut.jks: it is cut off or damaged"),
        (
            {"certificate": KeyStoreFile("client.p12", password="hunter2")},
            "key store client.p12: the password is wrong, or the "
            "store is damaged; give it by -X ssl.keystore.password=…",
        ),
        (
            {"certificate": KeyStoreFile("client.jks", password=STORE)},
            "key store client.jks: the password of its key is wrong; give it by -X ssl.key.password=…",
        ),
        (
            {"certificate": KeyStoreFile("client.jceks", password=STORE)},
            "key store client.jceks: kw reads no JCEKS; convert it: ",
        ),
        (
            {"certificate": KeyStoreFile("client.crt")},
            "key store client.crt has no key in it; name it by -X ssl.key.location=FILE",
        ),
        (
            {"certificate": KeyStoreFile("client.crt"), "key": KeyStoreFile("ca.pem")},
            "key store ca.pem has no key in it",
        ),
        (
            {"certificate": KeyStoreFile("client.crt"), "key": KeyStoreFile("locked.key")},
            "the key in key locked.key is locked; give -X ",
        ),
        (
            {"certificate": KeyStoreFile("client.crt"), "key": KeyStoreFile("locked.key", key_password="hunter2")},
            "the client's key cannot be opened: is ssl.key.password right?",
        ),
        (
            {"certificate": KeyStoreFile("client.crt"), "key": KeyStoreFile("old-locked.key", key_password="hunter2")},
            "the client's key cannot be opened: is ssl.key.password right?",
        ),
        (
            {"certificate": KeyStoreFile("client.crt"), "key": KeyStoreFile("other/client.pem")},
            "the client's key does not belong to its certificate",
        ),
        ({"ciphers": "TLS_NO_SUCH:NOPE"}, "ssl.cipher.suites names no cipher suite that OpenSSL knows: "),
        (
            {"key_log": "/no/such/folder/keys"},
            "SSLKEYLOGFILE /no/such/folder/keys cannot be written: No such file or di",
        ),
    ],
)
def test_what_cannot_be_read_is_said_before_connecting(
    stores: Path, tls: dict[str, Any], line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(stores)
    Path("empty").write_bytes(b"")
    for kind, name in (("pkcs12", "p12"), ("jks", "jks")):
        Path(f"cut.{name}").write_bytes(Path(f"trust.{kind}").read_bytes()[:200])
    with pytest.raises(Failure) as caught:
        make_client_context(TlsSettings(**tls))
    assert caught.value.text.startswith(line)
    assert caught.value.code == Exit.USAGE
    assert "hunter2" not in caught.value.text


SUN: Final = bytes.fromhex("060a2b060104012a02110101")


def test_parameters_of_a_jks_key_are_null_or_none(stores: Path) -> None:
    """Releases of Java differ in it, and so may the machine's `keytool`: the entry is written anew in both forms."""
    whole = (stores / "client.jks").read_bytes()
    at = whole.index(SUN) - 9  # of the entry's size, before two DER heads: of the whole (3 bytes), and of the method
    stop = at + 4 + int.from_bytes(whole[at : at + 4], "big")
    secret = whole[at + 9 + len(SUN) : stop].removeprefix(b"\x05\0")
    found = []
    for method in (SUN, SUN + b"\x05\0"):
        content = bytes([0x30, len(method)]) + method + secret
        entry = bytes([0x30, 0x81, len(content)]) + content
        store = whole[:at] + len(entry).to_bytes(4, "big") + entry + whole[stop:-20]
        digest = hashlib.sha1(STORE.encode("utf-16-be") + b"Mighty Aphrodite" + store).digest()
        found.append(read_pem_and_jks.read_jks(store + digest, STORE, KEY))
    assert found[0] == found[1]
    assert found[0].key is not None


@pytest.mark.long
@pytest.mark.parametrize("password", [None, STORE])
def test_a_jks_store_cut_or_bent_anywhere_is_an_error_or_read(stores: Path, password: str | None) -> None:
    whole = (stores / "client.jks").read_bytes()
    for at in range(4, len(whole), 7):
        with pytest.raises(read_pem_and_jks.StoreError):
            read_pem_and_jks.read_jks(whole[:at], password, KEY)
        bent = bytearray(whole)
        bent[at] ^= 0xFF
        if password is not None:
            with pytest.raises(read_pem_and_jks.StoreError):
                read_pem_and_jks.read_jks(bytes(bent), password, KEY)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("settings", "host", "line"),
    [
        ({}, "localhost", "has a certificate that this system's authorities did not sign (self-signed certificate in "),
        (
            {"authorities": KeyStoreFile("other/ca.pem")},
            "localhost",
            "has a certificate that other/ca.pem did not sign (",
        ),
        (
            {"authorities": KeyStoreFile("ca.pem")},
            "kafka.example",
            "has a certificate for another name than kafka.example; use ",
        ),
        (
            {"authorities": KeyStoreFile("ca.pem")},
            "127.0.0.2",
            "has a certificate for another name than 127.0.0.2; use a name ",
        ),
        (
            {"authorities": KeyStoreFile("ca.pem"), "server_name": "x.y"},
            "localhost",
            "has a certificate for another name than ",
        ),
        (
            {"authorities": KeyStoreFile("ca.pem"), "maximum": "TLSv1.2"},
            "localhost",
            "speaks no version of TLS that kw may use; ",
        ),
    ],
)
def test_a_broker_that_is_not_trusted(
    stores: Path, settings: dict[str, Any], host: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(stores)
    context = server_context(stores / "broker.pem")
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    with TlsServer(context) as server:
        assert (found := stop(server.port, TlsSettings(**settings), host)).text.startswith(line.partition(";")[0])
    assert f"{found.text}; {found.remedy}".startswith(line)
    assert found.code == Exit.UNREACHABLE


@pytest.mark.parametrize(
    "settings", [{"verify": False}, {"authorities": KeyStoreFile("ca.pem"), "check_hostname": False}]
)
def test_checks_can_be_turned_off(stores: Path, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(stores)
    with TlsServer(server_context(stores / "broker.pem")) as server:
        assert connect(server.port, TlsSettings(**settings), "another.name") == "nobody"
        assert server.server_name == "another.name"


@pytest.mark.one_in(2)
@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
@pytest.mark.parametrize(
    ("certificate", "line"),
    [
        (None, "wants a client certificate; give it by -X ssl.certificate.location=FILE"),
        (
            KeyStoreFile("other/client.pem"),
            "does not take the client certificate of other/client.pem; does the broker trust its authority?",
        ),
    ],
)
def test_a_broker_that_does_not_trust_us(
    stores: Path, version: Any, certificate: KeyStoreFile | None, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(stores)
    tls = TlsSettings(authorities=KeyStoreFile("ca.pem"), certificate=certificate, minimum=version, maximum=version)
    with TlsServer(server_context(stores / "broker.pem", stores / "ca.pem")) as server:
        found = stop(server.port, tls)
    if certificate is None and version == "TLSv1.2":  # OpenSSL's alert tells no more there
        line = "refuses the TLS handshake; does it want a client certificate (-X ssl.certificate.location=FILE"
    assert f"{found.text}; {found.remedy}".startswith(line)


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (b"", "ended the TLS handshake without a word; is it a listener without TLS? try -X security.protocol="),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "does not speak TLS; try -X security.protocol=PLAINTEXT"),
        (b"\0\0\0\x10" + bytes(16), "does not speak TLS; try -X security.protocol=PLAINTEXT"),
    ],
)
def test_tls_to_a_plain_listener(answer: bytes, line: str) -> None:
    with TlsServer(None, answer) as server:
        found = stop(server.port, TlsSettings(verify=False))
    assert f"{found.text}; {found.remedy}".startswith(line)


@pytest.mark.parametrize(
    ("java", "openssl"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
        ("TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384, TLS_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES256-SHA384"),
        ("TLS_RSA_WITH_AES_256_GCM_SHA384", "AES256-GCM-SHA384"),
        ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"),
        ("ECDHE-RSA-AES128-GCM-SHA256:HIGH", "ECDHE-RSA-AES128-GCM-SHA256:HIGH"),
        ("TLS_AES_128_GCM_SHA256", None),
    ],
)
def test_names_of_cipher_suites(java: str, openssl: str | None) -> None:
    assert translate_ciphers(java) == openssl


def test_a_cipher_suite_is_chosen() -> None:
    context = make_client_context(TlsSettings(ciphers="TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", maximum="TLSv1.2"))
    names = [each["name"] for each in context.get_ciphers() if not each["name"].startswith("TLS_")]
    assert names == ["ECDHE-ECDSA-AES128-GCM-SHA256"]


@pytest.mark.parametrize(("certificate", "loads"), [("client.pem", False), ("client.jks", False), ("client.p12", True)])
def test_the_crypto_library_is_loaded_only_for_pkcs12(stores: Path, certificate: str, loads: bool) -> None:
    code = (
        "import sys; from kwcli.net.config.client_config import KeyStoreFile, TlsSettings;"
        "from kwcli.net.tls_connect import make_client_context;"
        f"own = KeyStoreFile({str(stores / certificate)!r}, {None}, {STORE!r}, {KEY!r});"
        "make_client_context(TlsSettings(certificate=own));"
        "print('cryptography' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(loads)
