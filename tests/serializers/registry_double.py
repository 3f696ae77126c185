"""A schema registry of this process: Confluent's HTTP API with GUIDs, contexts and references, kept in memory.

It stands for what no registry that can be had here does: GUIDs in answers, contexts, and records of `_schemas`, which
`Double.write_schemas_topic` gives to a producer as Confluent's server writes them.
"""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, Final
from urllib.parse import unquote
from uuid import UUID

__all__ = ["CCOMPAT", "RegistryDouble", "Row", "registry_double"]

Row = dict[str, Any]
CCOMPAT: Final = "/apis/ccompat/v7"  # where Apicurio's registry has Confluent's API
_TYPE: Final = "application/vnd.schemaregistry.v1+json"
_CONTEXT: Final = re.compile(r":(\.[^:]*):")


class RegistryDouble:
    """The rows of a registry: `id guid subject version schema schemaType references`; and what it was asked."""

    def __init__(self, rows: list[Row] | None = None, *, first_id: int = 1) -> None:
        self.url = ""
        self.rows: list[Row] = list(rows or [])
        self.asked: list[tuple[str, str, str | None]] = []  # method, path, Authorization
        self.found = 0  # answers with something
        self.authorization: str | None = None  # that requests need to have
        self._first_id = first_id
        self._lock = Lock()

    def answer(self, method: str, path: str, body: Row) -> tuple[int, Row | list[Any] | str]:
        """The status and the answer to a request; of Apicurio's own API the text of a schema."""
        place, _, query = path.removeprefix(CCOMPAT).partition("?")
        words = [unquote(word) for word in place.strip("/").split("/")]
        inside = ""
        if words[0] == "contexts":  # all subjects and ids behind it are those of the context
            inside, words = f":{words[1]}:", words[2:]
            if words[:1] == ["subjects"]:
                words[1] = inside + words[1]
        with self._lock:
            match method, words:
                case "POST", ["subjects", subject, "versions"]:
                    return 200, self._register(subject, body)
                case "POST", ["subjects", subject]:
                    return self._find(lambda row: row["subject"] == subject and row["schema"] == body["schema"])
                case "GET", ["subjects", subject, "versions", "latest"]:
                    found = [row for row in self.rows if row["subject"] == subject]
                    return (200, found[-1]) if found else _not_found()
                case "GET", ["subjects", subject, "versions", version]:
                    return self._find(lambda row: row["subject"] == subject and str(row["version"]) == version)
                case "GET", ["schemas", "ids", number]:
                    asked = unquote(match[1]) if (match := re.search(r"subject=([^&]*)", query)) else ""
                    context = _context_of(inside or asked)
                    return self._find(
                        lambda row: str(row.get("id")) == number and _context_of(row["subject"]) == context
                    )
                case "GET", ["schemas", "guids", guid]:
                    return self._find(lambda row: row.get("guid") == guid)
                case "GET", ["apis", "registry", "v2", "ids", "globalIds", number]:
                    status, one = self._find(lambda row: str(row.get("global_id")) == number)
                    return status, one["schema"] if status == 200 else one
                case "GET", ["apis", "registry", "v2", "ids", "globalIds", number, "references"]:
                    status, one = self._find(lambda row: str(row.get("global_id")) == number)
                    return status, _references_of(one) if status == 200 else one
        return _not_found()

    def _find(self, passes: Any) -> tuple[int, Row]:
        return next(((200, row) for row in self.rows if passes(row)), _not_found())

    def _register(self, subject: str, body: Row) -> Row:
        context = _context_of(subject)
        text, kind, references = body["schema"], body.get("schemaType", "AVRO"), body.get("references") or []
        mine = [row for row in self.rows if _context_of(row["subject"]) == context]
        for row in self.rows:
            if row["subject"] == subject and row["schema"] == text:
                return row
        same = [row["id"] for row in mine if row["schema"] == text]
        number = same[0] if same else max((row["id"] for row in mine), default=self._first_id - 1) + 1
        digest = md5(f"{kind}{text}{references}".encode(), usedforsecurity=False).digest()
        row = {
            "subject": subject,
            "version": sum(row["subject"] == subject for row in self.rows) + 1,
            "id": number,
            "guid": str(UUID(bytes=digest)),
            "schema": text,
            **({} if kind == "AVRO" else {"schemaType": kind}),
            **({"references": references} if references else {}),
        }
        self.rows.append(row)
        return row

    def schemas_topic(self) -> list[tuple[bytes, bytes]]:
        """The records of `_schemas`, keys and values, as Confluent's server writes them."""
        found = []
        for row in self.rows:
            key = {"keytype": "SCHEMA", "subject": row["subject"], "version": row["version"], "magic": 1}
            value = {**row, "deleted": False}
            found.append((_json(key), _json(value)))
        return [(_json({"keytype": "NOOP", "magic": 0}), b""), *found]


def _references_of(row: Row) -> list[Row]:
    """What a schema refers to, as Apicurio's own API says it."""
    return [
        {"name": each["name"], "artifactId": each["subject"], "version": str(each["version"])}
        for each in row.get("references") or ()
    ]


def _json(value: Row | list[Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _context_of(subject: str) -> str:
    match = _CONTEXT.match(subject)
    return match[1] if match else "."


def _not_found() -> tuple[int, Row]:
    return 404, {"error_code": 40403, "message": "Schema not found"}


@contextmanager
def registry_double(
    double: RegistryDouble | None = None, *, port: int = 0, tls: ssl.SSLContext | None = None
) -> Iterator[RegistryDouble]:
    """A double that answers at its `url`."""
    served = double or RegistryDouble()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(size) or b"{}")
            served.asked.append((self.command, self.path, self.headers.get("Authorization")))
            if served.authorization not in (None, self.headers.get("Authorization")):
                status: int = 401
                row: Any = {"error_code": 401, "message": "Unauthorized"}
            else:
                status, row = served.answer(self.command, self.path, body)
            served.found += status == 200
            data = row.encode() if isinstance(row, str) else _json(row)
            self.send_response(status)
            self.send_header("Content-Type", _TYPE)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = _answer  # noqa: N815 -- the name that the class looks for
        do_POST = _answer  # noqa: N815 -- likewise

        def log_message(self, *_words: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    scheme = "http" if tls is None else "https"
    served.url = f"{scheme}://127.0.0.1:{server.server_port}"
    try:
        yield served
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
