"""A live schema registry: asked where it is named and a schema is missing, once each, and kept in the user's cache."""

from __future__ import annotations

import json
import stat
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import pytest

from decoders import Record
from kwcli.run_environment import Environment
from tests.cli.worlds import kw, world
from tests.reading.captures_with_values import ORDER, HandMadeCapture, prefixed
from tests.reading.test_value_schemas import orders
from tests.serializers.registry_double import RegistryDouble, registry_double

LINE = {"type": "record", "name": "Line", "namespace": "shop", "fields": [{"name": "sku", "type": "string"}]}
CART = {"type": "record", "name": "Cart", "namespace": "shop", "fields": [{"name": "line", "type": "shop.Line"}]}
ROWS: dict[str, Any] = {
    "/schemas/ids/17": {"schema": json.dumps(ORDER)},
    "/schemas/ids/18": {
        "schema": json.dumps(CART),
        "references": [{"name": "shop.Line", "subject": "line", "version": 3}],
    },
    "/subjects/line/versions/3": {"subject": "line", "version": 3, "id": 16, "schema": json.dumps(LINE)},
}


class Double(NamedTuple):
    """A registry of this process, and what it was asked: paths with the Authorization header."""

    url: str
    asked: list[tuple[str, str | None]]


@contextmanager
def registry(rows: dict[str, Any] = ROWS, *, status: int = 404) -> Iterator[Double]:
    """A registry with these answers; others have a status of an error."""
    asked: list[tuple[str, str | None]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append((self.path, self.headers.get("Authorization")))
            found = rows.get(self.path)
            body = json.dumps(found if found is not None else {"error_code": 40403, "message": "no"}).encode()
            self.send_response(200 if found is not None else status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_words: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield Double(f"http://127.0.0.1:{server.server_port}", asked)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def capture(folder: Path, *values: bytes) -> str:
    """A capture with these values alone."""
    records = [Record(at, 5, None, value) for at, value in enumerate(values)]
    return HandMadeCapture().produce("orders", *records).write(folder / "a.pcap")


def home(folder: Path) -> Environment:
    """An environment whose cache is in a folder."""
    return world(variables={"XDG_CACHE_HOME": str(folder), "HOME": str(folder)})


def test_missing_schemas_are_asked_for_once_and_kept(tmp_path: Path) -> None:
    name = capture(tmp_path, prefixed(17), prefixed(17), prefixed(18, b"\6abc"), prefixed(19), prefixed(19))
    with registry() as double:
        words = ("sniff", name, "-X", f"schema.registry.url={double.url}")
        found = orders(*words, env=home(tmp_path))
        assert [each["value"] for each in found[:3]] == [{"id": 41, "customer": "Ann"}] * 2 + [{"line": {"sku": "abc"}}]
        assert found[0]["schema_from"] == {"kind": "registry", "place": double.url}
        assert [each.get("missing_schema") for each in found[3:]] == [True, True]
        asked = [path for path, _ in double.asked]
        assert asked == ["/schemas/ids/17", "/schemas/ids/18", "/subjects/line/versions/3", "/schemas/ids/19"]
        double.asked.clear()
        again = orders(*words, env=home(tmp_path))
        assert [path for path, _ in double.asked] == ["/schemas/ids/19"]
    assert {each["schema_from"]["kind"] for each in again[:3]} == {"cache"}
    assert [each["value"] for each in again] == [each["value"] for each in found]
    files = [path for path in (tmp_path / "kw").rglob("*") if path.is_file()]
    assert len(files) == 3
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


def test_nothing_is_asked_unless_it_is_named_and_needed(tmp_path: Path) -> None:
    with registry() as double:
        name = capture(tmp_path, prefixed(17))
        named = ("-X", f"schema.registry.url={double.url}")
        env = world(variables={"KW_SCHEMA_REGISTRY_URL": double.url})
        assert orders("sniff", name, env=env)[0]["missing_schema"]
        kw("sniff", name, *named, env=home(tmp_path))
        kw("sniff", name, "--records", "--raw-values", *named, env=home(tmp_path))
        assert not double.asked
        out = kw("sniff", name, "-f", "value.customer == Ann", *named, env=home(tmp_path)).out
        assert out.count("\n") == 1


@pytest.mark.parametrize(
    ("properties", "header"),
    [
        (["basic.auth.user.info=kim:pass"], "Basic " + b64encode(b"kim:pass").decode()),
        (["bearer.auth.token=letmein"], "Bearer letmein"),
        (
            ["basic.auth.credentials.source=SASL_INHERIT", "sasl.username=kim", "sasl.password=word"],
            "Basic " + b64encode(b"kim:word").decode(),
        ),
        ([], None),
    ],
    ids=["basic", "bearer", "inherited", "none"],
)
def test_credentials_are_sent_and_never_told(properties: list[str], header: str | None, tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    with registry(status=401) as double:
        file.write_text("\n".join([f"schema.registry.url={double.url}", *properties]))
        run = kw("sniff", capture(tmp_path, prefixed(99)), "--records", "-F", str(file), env=home(tmp_path))
    assert double.asked == [("/schemas/ids/99", header)]
    assert run.code == 0
    assert run.err.count("refuses kw (HTTP 401)") == 1
    for secret in ("pass", "letmein", "word"):
        assert secret not in run.err.replace("basic.auth", "")


def test_a_registry_that_is_none_is_told_once(tmp_path: Path) -> None:
    name = capture(tmp_path, prefixed(17), prefixed(18))
    for url, text in (("http://127.0.0.1:1", "cannot be reached"), ("ftp://x", "is no address")):
        run = kw("sniff", name, "--records", "-X", f"schema.registry.url={url}", env=home(tmp_path))
        assert run.err.count(text) == 1


def test_a_context_of_a_registry_has_ids_of_its_own(tmp_path: Path) -> None:
    other = {**ORDER, "name": "Parcel"}
    rows = [
        {"subject": "orders-value", "version": 1, "id": 17, "schema": json.dumps(other)},
        {"subject": ":.team-a:orders-value", "version": 1, "id": 17, "schema": json.dumps(ORDER)},
        {"subject": ":.team-a:carts-value", "version": 1, "id": 18, "schema": json.dumps(CART),
         "references": [{"name": "shop.Line", "subject": "line", "version": 3}]},
        {"subject": ":.team-a:line", "version": 3, "id": 16, "schema": json.dumps(LINE)},
    ]  # fmt: skip
    name = capture(tmp_path, prefixed(17), prefixed(18, b"\6abc"))
    with registry_double(RegistryDouble(rows)) as double:
        for place, named, cart in (
            ("", "shop.Parcel", None),
            ("/contexts/.team-a", "shop.Order", {"line": {"sku": "abc"}}),
        ):
            for kind in ("registry", "cache"):
                words = ("-X", f"schema.registry.url={double.url}{place}")
                first, second = orders("sniff", name, *words, env=home(tmp_path))
                assert (first["name"], first["value"]) == (named, {"id": 41, "customer": "Ann"})
                assert first["schema_from"] == {"kind": kind, "place": f"{double.url}{place}"}
                assert (second["value"], second.get("missing_schema", False)) == (cart, cart is None)
