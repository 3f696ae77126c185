"""A registry's address and credentials in, the schemas that it has out: asked over HTTP, kept in the user's cache.

It is asked only where the user names it, and only for schemas that values name, each once; what it says is bounded in
size and time (http_client.py). Ids never change their meaning, so an answer is kept, for the user alone, by registry.
"""

from __future__ import annotations

import hashlib
import json
import os
from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import quote, unquote, urlsplit

from decoders.errors import strip_traceback
from decoders.limits import HTTP_ANSWER_S, HTTP_CAPTURED_MAX
from decoders.messages.registries.learn_apicurio_schemas import find_schema_type, read_artifact_references
from decoders.messages.registries.learn_registry_schemas import parse_registry_row
from decoders.values.schemas_and_decoded_values import IdKind, OriginKind, RegisteredSchema, SchemaOrigin
from kwcli.net.command_deadline import Deadline
from kwcli.net.config.client_properties import redact_url
from kwcli.net.http_client import HttpAnswer, HttpProblem, HttpServer, send_http_request
from kwcli.private_files import create_private_folder, write_private_file
from kwcli.run_environment import Exit, Failure
from kwcli.user_folders import own_folder_name

if TYPE_CHECKING:
    import ssl

    from decoders.values.schemas_and_decoded_values import DecodedValue
    from kwcli.net.config.client_config import RegistrySettings
    from kwcli.run_environment import Environment

__all__ = ["SchemaRegistry"]

# Schemas that one schema may bring with it.
_REFERENCES_MAX: Final = 100
# Apicurio's Confluent API has content ids; what a global id means, its own API tells (of 2.x, which 3.x has as well).
_OWN_ROOT: Final = "/apis/"
_OWN_API: Final = f"{_OWN_ROOT}registry/v2"
_GLOBAL_IDS: Final = f"{_OWN_API}/ids/globalIds"
_TYPE: Final = "application/vnd.schemaregistry.v1+json, application/json"
_NOT_FOUND: Final = 404
_REFUSED: Final = (401, 403)


Answer = TypeVar("Answer")


def _decode_text(body: bytes) -> str | None:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


def _parse_json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _parse_object(body: bytes) -> dict[str, Any] | None:
    found = _parse_json(body)
    return found if isinstance(found, dict) else None


def _parse_list(body: bytes) -> list[Any] | None:
    found = _parse_json(body)
    return found if isinstance(found, list) else None


class NoSchema(ValueError):
    """The registry does not have what it was asked for."""


class SchemaRegistry:
    """A registry; `learn` is given each schema of it that is read."""

    def __init__(
        self, settings: RegistrySettings, env: Environment, learn: Callable[[RegisteredSchema], object]
    ) -> None:
        """Raises Failure (usage) for an address that is none."""
        self._settings = settings
        self._env = env
        self._learn = learn
        self._urls = [url.strip().rstrip("/") for url in settings.url.split(",") if url.strip()]
        for url in self._urls:
            try:
                parts = urlsplit(url)
                good = (
                    parts.scheme in ("http", "https")
                    and bool(parts.hostname)
                    and (parts.port is None or parts.port > 0)
                )
            except ValueError:
                good = False
            if not good:
                raise Failure(
                    f"schema.registry.url: {redact_url(url)} is no address: write http://HOST:PORT", Exit.USAGE
                )
        self._context: ssl.SSLContext | None = None
        self._asked: set[str] = set()  # paths
        self._broken = False  # it cannot be asked, which was told
        folder = own_folder_name("cache", env.variables)
        digest = hashlib.sha256(",".join(map(redact_url, self._urls)).encode()).hexdigest()[:24]
        self._folder = os.path.join(folder, "schemas", digest)

    def find_schema(self, found: DecodedValue) -> bool:
        """Look up the schema that a value names; whether one was found. A registry without answers is told once."""
        wanted = found.schema_id
        if wanted is None or self._broken:
            return False
        try:
            return any(
                self._learn_schema_once(path, wanted) for path in self._list_url_paths_of_id(wanted, found.id_kind)
            )
        except Failure as failure:
            self._broken = True
            self._env.report(f"kw: {failure.text}")
            return False

    def _list_url_paths_of_id(self, wanted: int | str, id_kind: IdKind | None) -> list[str]:
        """Where the schema of an id may be: a prefix may be either of Apicurio's ids, most often a content id."""
        if isinstance(wanted, str):
            return [f"/schemas/guids/{wanted}"]
        usual, own = f"/schemas/ids/{wanted}", f"{_GLOBAL_IDS}/{wanted}"
        if id_kind is None:
            return [usual, own] if _OWN_ROOT in self._urls[0] else [usual]
        return [own if id_kind == "globalId" else usual]

    def _learn_schema_once(self, path: str, wanted: int | str) -> bool:
        """Learn the schema at a path that was not asked yet; whether there is one. Raises Failure."""
        if path in self._asked:
            return False
        try:
            self._learn_at_path(path, schema_id=wanted if isinstance(wanted, int) else None, guid=wanted)
        except NoSchema:
            return False
        return True

    def read_latest_schema_of_subject(self, subject: str) -> RegisteredSchema:
        """The latest schema of a subject. Raises Failure."""
        return self._read_schema_or_fail(f"/subjects/{quote(subject, safe='')}/versions/latest", f"subject {subject}")

    def read_schema_by_id(self, schema_id: int) -> RegisteredSchema:
        """The schema of an id. Raises Failure."""
        return self._read_schema_or_fail(f"/schemas/ids/{schema_id}", f"id {schema_id}", schema_id=schema_id)

    def _read_schema_or_fail(self, path: str, what: str, schema_id: int | None = None) -> RegisteredSchema:
        try:
            return self._learn_at_path(path, schema_id=schema_id)
        except NoSchema:
            raise Failure(f"{self._redacted_url}: no schema of {what}") from None

    @property
    def _redacted_url(self) -> str:
        return redact_url(self._urls[0])

    def _learn_at_path(
        self, path: str, *, schema_id: int | None = None, guid: int | str | None = None
    ) -> RegisteredSchema:
        """Learn the schema at a path, and those that it refers to. Raises NoSchema, Failure."""
        first = schema = self._read_schema(path, schema_id, guid if isinstance(guid, str) else None)
        self._learn(schema)
        waiting = list(first.references)
        for _ in range(_REFERENCES_MAX):
            if not waiting:
                break
            each = waiting.pop()
            path = f"/subjects/{quote(each.subject, safe='')}/versions/{each.version}"
            if path not in self._asked:
                with suppress(NoSchema):
                    schema = self._read_schema(path, None, None)
                    self._learn(schema)
                    waiting += schema.references
        return first

    def _read_schema(self, path: str, schema_id: int | None, guid: str | None) -> RegisteredSchema:
        """The schema at a path, of the cache or of the registry. Raises NoSchema, Failure."""
        self._asked.add(path)
        row = self._read_cached_row(path)
        kind: OriginKind = "registry" if row is None else "cache"
        if row is None:
            row = (
                self._request_row_by_global_id(path) if path.startswith(_GLOBAL_IDS) else self._request_schema_row(path)
            )
        registry = urlsplit(self._urls[0]).netloc.rpartition("@")[2]
        found = parse_registry_row(
            {"guid": guid, **row} if guid is not None else row,
            origin=SchemaOrigin(kind, place=self._redacted_url),
            registry=registry,
            schema_id=schema_id,
        )
        if found is None:
            raise NoSchema
        if path.startswith(_GLOBAL_IDS):
            found = found._replace(id_kind="globalId")
        if kind == "registry" and not path.endswith("/latest"):
            self._write_cached_row(path, row)
        return found

    # -- the cache -----------------------------------------------------------------------------------------------------

    def _cache_path_of_schema(self, path: str) -> str:
        return os.path.join(self._folder, hashlib.sha256(path.encode()).hexdigest()[:24] + ".json")

    def _read_cached_row(self, path: str) -> dict[str, Any] | None:
        try:
            with open(self._cache_path_of_schema(path), "rb") as file:
                kept = json.loads(file.read(HTTP_CAPTURED_MAX))
        except (OSError, ValueError, RecursionError):
            return None
        good = isinstance(kept, dict) and kept.get("path") == path and isinstance(kept.get("row"), dict)
        return kept["row"] if good else None

    def _write_cached_row(self, path: str, row: dict[str, Any]) -> None:
        with suppress(OSError):  # a cache that cannot be written is none
            create_private_folder(self._folder)
            write_private_file(self._cache_path_of_schema(path), json.dumps({"path": path, "row": row}).encode())

    # -- the registry --------------------------------------------------------------------------------------------------

    def _request_row_by_global_id(self, path: str) -> dict[str, Any]:
        """What Apicurio's own API says of a global id, as its Confluent API would. Raises NoSchema, Failure."""
        text = self._request_from_any_registry_url(path, _decode_text)
        try:
            rows = self._request_from_any_registry_url(f"{path}/references", _parse_list)
        except NoSchema:
            rows = []
        references = [reference._asdict() for reference in read_artifact_references(rows)]
        return {"schema": text, "schemaType": find_schema_type(text), "references": references}

    def _request_schema_row(self, path: str) -> dict[str, Any]:
        """The object that the registry answers. Raises NoSchema, Failure."""
        return self._request_from_any_registry_url(path, _parse_object)

    def _request_from_any_registry_url(self, path: str, parse: Callable[[bytes], Answer | None]) -> Answer:
        """The first answer of the registry's addresses that can be parsed. Raises NoSchema, Failure."""
        failed = Failure(f"{self._redacted_url}: no address")
        for url in self._urls:
            try:
                answer = self._request_from_one_url(url, path)
            except Failure as failure:
                failed = strip_traceback(failure)
                continue
            if answer.status == _NOT_FOUND:
                raise NoSchema
            if answer.status in _REFUSED:
                remedy = "check basic.auth.user.info, bearer.auth.token"
                raise Failure(f"{redact_url(url)} refuses kw (HTTP {answer.status}): {remedy}", Exit.REFUSED)
            found = parse(answer.body) if answer.status == 200 else None
            if found is not None:
                return found
            failed = Failure(
                f"{redact_url(url)} answers HTTP {answer.status} without a schema: is it a schema registry?"
            )
        raise failed

    def _request_from_one_url(self, url: str, path: str) -> HttpAnswer:
        """One answer. Raises Failure."""
        parts, shown = urlsplit(url), redact_url(url)
        deadline = Deadline(HTTP_ANSWER_S, self._env.monotonic)
        try:
            server = HttpServer(
                parts.hostname or "",
                parts.port or self._get_usual_port(parts.scheme),
                shown,
                self._make_tls_context_of_url(url),
            )
            headers = {"Accept": _TYPE, **self._make_authorization_header(url)}
            root = parts.path
            if path.startswith(_OWN_API):
                root, headers["Accept"] = root.partition(_OWN_ROOT)[0], "*/*"
            return send_http_request(server, "GET", f"{root}{path}", headers, b"", deadline, size_max=HTTP_CAPTURED_MAX)
        except HttpProblem as problem:
            raise Failure(f"{shown}: {problem}", Exit.UNREACHABLE) from None
        except TimeoutError:
            raise Failure(f"{shown} did not answer within {deadline.seconds:.3g} s", Exit.TIMEOUT) from None
        except OSError as error:
            raise Failure(f"{shown} cannot be reached: {error.strerror or error}", Exit.UNREACHABLE) from None

    @staticmethod
    def _get_usual_port(scheme: str) -> int:
        return 443 if scheme == "https" else 80

    def _make_tls_context_of_url(self, url: str) -> ssl.SSLContext | None:
        if not url.startswith("https:"):
            return None
        if self._context is None:
            from kwcli.net.tls_connect import make_client_context

            self._context = make_client_context(self._settings.tls)
        return self._context

    def _make_authorization_header(self, url: str) -> dict[str, str]:
        settings, parts = self._settings, urlsplit(url)
        user_info = settings.user_info
        if user_info is None and parts.username is not None:
            user_info = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        if settings.token is not None:
            return {"Authorization": f"Bearer {settings.token}"}
        if user_info is not None:
            return {"Authorization": "Basic " + b64encode(user_info.encode()).decode()}
        return {}
