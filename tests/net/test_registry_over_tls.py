"""A schema registry over TLS: its certificate is checked, ours is shown, logins are sent to it alone and never told."""

from __future__ import annotations

import json
import ssl
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from kwcli.playground.tls_certificates import write_tls_certificates
from tests.cli.worlds import kw
from tests.net.hostile_http import (
    answering,
    bomb,
    cut,
    dripping_body,
    endless_body,
    endless_headers,
    hostile,
    huge_length,
    no_http,
)
from tests.net.test_schema_registry import capture, home, registry
from tests.reading.captures_with_values import ORDER, prefixed
from tests.reading.test_value_schemas import orders
from tests.serializers.registry_double import RegistryDouble, registry_double

ROW = {"id": 17, "guid": "", "subject": "orders-value", "version": 1, "schema": json.dumps(ORDER)}
ANN = {"id": 41, "customer": "Ann"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    write_tls_certificates(folder)
    write_tls_certificates(folder / "other")
    return folder


def server_context(files: Path, *, asks_client: bool = False) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files / "broker.pem")
    if asks_client:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(files / "ca.pem")
    return context


def properties(folder: Path, **rows: Any) -> str:
    """A file of client properties; `_` in a name stands for `.`."""
    file = folder / "client.properties"
    file.write_text("".join(f"{name.replace('_', '.')}={value}\n" for name, value in rows.items()))
    return str(file)


@pytest.mark.parametrize(
    ("login", "header"),
    [
        ({"basic_auth_user_info": "kim:opensesame"}, "Basic " + b64encode(b"kim:opensesame").decode()),
        ({"bearer_auth_token": "opensesame"}, "Bearer opensesame"),
    ],
)
def test_a_client_certificate_and_a_login(login: dict[str, str], header: str, files: Path, tmp_path: Path) -> None:
    name = capture(tmp_path, prefixed(17))
    double = RegistryDouble([ROW])
    double.authorization = header
    with registry_double(double, tls=server_context(files, asks_client=True)):
        shown = {"ssl_ca_location": files / "ca.pem", "ssl_certificate_location": files / "client.pem"}
        shown["ssl_key_location"] = files / "client.key"
        words = ("-F", properties(tmp_path, schema_registry_url=double.url, **shown, **login))
        (found,) = orders("sniff", name, *words, env=home(tmp_path))
        assert (found["value"], found["schema_from"]["kind"]) == (ANN, "registry")
        # Without the certificate the server ends the handshake: told once, and the values are shown all the same.
        del shown["ssl_certificate_location"], shown["ssl_key_location"]
        words = ("-F", properties(tmp_path, schema_registry_url=double.url, **shown, **login))
        several = capture(tmp_path, prefixed(18), prefixed(19), prefixed(20))
        run = kw("sniff", several, "--records", "-v", *words, env=home(tmp_path))
    assert run.code == 0
    assert len([line for line in run.err.splitlines() if double.url in line]) == 1, run.err
    assert "opensesame" not in run.err + run.out


@pytest.mark.parametrize("trusted", ["other/ca.pem", None], ids=["another authority", "no authority"])
def test_a_certificate_that_is_not_trusted_gets_no_login(trusted: str | None, files: Path, tmp_path: Path) -> None:
    double = RegistryDouble([ROW])
    with registry_double(double, tls=server_context(files)):
        rows: dict[str, Any] = {"schema_registry_url": double.url, "basic_auth_user_info": "kim:opensesame"}
        if trusted is not None:
            rows["ssl_ca_location"] = files / trusted
        run = kw(
            "sniff",
            capture(tmp_path, prefixed(17)),
            "--records",
            "-F",
            properties(tmp_path, **rows),
            env=home(tmp_path),
        )
        assert not double.asked
    assert "certificate" in run.err
    assert "opensesame" not in run.err + run.out


@pytest.mark.parametrize(
    "behave",
    [
        pytest.param(answering(b"302 Found", b"Location: http://127.0.0.1:1/schemas/ids/17"), id="redirect"),
        pytest.param(answering(b"200 OK"), id="no object"),
        endless_body,
        endless_headers,
        huge_length,
        pytest.param(bomb, marks=pytest.mark.long),
        cut,
        no_http,
        pytest.param(dripping_body, marks=pytest.mark.full),
    ],
)
def test_odd_answers_end_soon_and_are_told_once(behave: Any, tmp_path: Path) -> None:
    name = capture(tmp_path, prefixed(17), prefixed(18))
    with hostile(behave) as server:
        place = server.url.split("//")[1].split("/")[0]
        words = ("-X", f"schema.registry.url=http://kim:opensesame@{place}", "--debug")
        run = kw("sniff", name, "--records", "-v", *words, env=home(tmp_path))
    assert run.code == 0
    assert len([line for line in run.err.splitlines() if place in line]) == 1, run.err
    assert "opensesame" not in run.err + run.out


def test_what_a_redirect_leads_to_is_not_asked(tmp_path: Path) -> None:
    with registry({"/schemas/ids/17": {"schema": json.dumps(ORDER)}}) as other:
        behave = answering(b"307 Temporary Redirect", f"Location: {other.url}/schemas/ids/17".encode())
        with hostile(behave) as server:
            place = server.url.split("//")[1].split("/")[0]
            words = ("-X", f"schema.registry.url=http://{place}", "-X", "bearer.auth.token=opensesame")
            (found,) = orders("sniff", capture(tmp_path, prefixed(17)), *words, env=home(tmp_path))
    assert found["missing_schema"] is True
    assert not other.asked


def test_an_address_with_a_password_is_shown_without_it(tmp_path: Path) -> None:
    with registry() as double:
        url = double.url.replace("//", "//kim:opensesame@")
        words = ("-X", f"schema.registry.url={url}")
        run = kw("sniff", capture(tmp_path, prefixed(17)), "--records", "-v", *words, env=home(tmp_path))
    assert '"place":"http' in run.out.replace(" ", "")
    assert "opensesame" not in run.out + run.err
    assert double.asked[0][1] == "Basic " + b64encode(b"kim:opensesame").decode()
    assert not any(b"opensesame" in file.read_bytes() for file in tmp_path.rglob("*.json"))
