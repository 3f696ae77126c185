"""A record that was written with its secrets in, the same record with its secrets redacted out.

The user who wrote the record asked for its secrets; the user who reads it may not. The readers of frames redact secrets
as they decode; a record needs a walk of its own, by the same declarations. Values of another shape than their field has
are left for the check of shapes.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, Final

from decoders.embedded import STRUCTURES, VERSION, parse_structure_declaration
from decoders.exchanges.body_reader import SIDES, Layout, list_layouts
from decoders.exchanges.topic_arrays import may_hold_cluster_metadata
from decoders.messages.build_body_json import ECHOING, REDACTED, conceal_error_messages, layouts_have_secrets
from decoders.protocol_facts.public_configs import is_public_config
from decoders.records.records_as_json import metadata_record_holds_secret
from decoders.schema.api_declaration import FIXED, Plan, PlanField, Side, resolve
from decoders.schema.body_json_form import BASE64, STRUCTURE, redacted_json
from decoders.wire.redact_text import Conceal, make_secret_concealer, redact_whole_text

__all__ = ["redact_record"]

Json = Mapping[str, Any]
_HOLDING: Final = ("bytes", "records")
_MESSAGES_HIDDEN: Final = "messages_hidden"


def redact_record(record: Json) -> Json:
    """The record of an exchange without its secrets; the same object where there is none."""
    key, version = record.get("api_key"), record.get("api_version")
    redaction = _Redaction()
    changed: dict[str, Any]
    if not isinstance(key, int) or not isinstance(version, int):
        changed = {side: redaction.redact_value(record.get(side)) for side in SIDES}
    else:
        changed = {side: redaction.redact_body(record, side, list_layouts(key, version, side)) for side in SIDES}
        changed |= redaction.redact_other_keys(record, key, version)
    answer = changed["response"]
    if key in ECHOING and isinstance(answer, dict) and not record.get(_MESSAGES_HIDDEN):
        conceal = redaction.find_concealer(record)
        if conceal is not None:
            changed["response"] = conceal_error_messages(answer, conceal)
            if conceal is redact_whole_text and changed["response"] != answer:
                changed[_MESSAGES_HIDDEN] = True
    changed = {name: value for name, value in changed.items() if value is not record.get(name)}
    return {**record, **changed} if changed else record


class _Redaction:
    """Redacts the parts of one record, and keeps the secrets found, because error messages may repeat them."""

    def __init__(self) -> None:
        self.found: list[str | bytes] = []
        self._metadata = False

    def find_concealer(self, record: Json) -> Conceal | None:
        """The function that takes secrets out of error messages (make_concealer_of_exchange); None: there are none."""
        undecoded = record.get("undecoded")
        if record.get("guessed") or (isinstance(undecoded, dict) and "request" in undecoded):
            return redact_whole_text
        return (
            make_secret_concealer(self.found, _size_of_json_value(record.get("response_size"))) if self.found else None
        )

    def redact_body(self, record: Json, side: Side, known: tuple[Layout, ...]) -> Any:
        """A body without its secrets."""
        value, early = record.get(side), record.get("layout")
        early_layout = early.get(side) if isinstance(early, dict) else None
        plan = next((layout.plan for layout in known if layout.early_layout == early_layout), None)
        if plan is None or not isinstance(value, dict) or not _list_fields_to_redact(plan):
            return value
        try:
            self._metadata = may_hold_cluster_metadata(record["api_key"], side, value)
        except (TypeError, AttributeError):  # of another shape
            self._metadata = True
        return self._redact_struct(plan, value)

    def redact_other_keys(self, record: Json, key: int, version: int) -> dict[str, Any]:
        """The changed keys with bytes beside the bodies: of sides that could not be decoded, and after a request."""
        changed: dict[str, Any] = {}
        undecoded, trailing = record.get("undecoded"), record.get("trailing")
        if isinstance(undecoded, dict):
            changed["undecoded"] = {
                side: self._redact_failure(each, key, version, side) for side, each in undecoded.items()
            }
        if trailing is not None and isinstance(trailing, dict):
            changed["trailing"] = {
                side: self.redact_value(each) if self._must_hide_bytes(key, version, side) else each
                for side, each in trailing.items()
            }
        return {name: value for name, value in changed.items() if value != record[name]}

    def _must_hide_bytes(self, key: int, version: int, side: Any) -> bool:
        """Whether bytes of a side may hold a secret."""
        return (side == "response" and key in ECHOING) or layouts_have_secrets(key, list_layouts(key, version, side))

    def _redact_failure(self, failure: Any, key: int, version: int, side: Any) -> Any:
        raw = failure.get("raw") if isinstance(failure, dict) else None
        if not self._must_hide_bytes(key, version, side) or not isinstance(raw, str):
            return failure
        return {**failure, "raw": redacted_json(len(_bytes_of_json_value({BASE64: raw}) or b""))}

    def redact_value(self, value: Any) -> Any:
        """The redacted form of a secret value; null and redacted values stay."""
        if value is None or (isinstance(value, dict) and value.keys() == REDACTED):
            return value
        data = _bytes_of_json_value(value)
        if data is None:
            return redacted_json(_size_of_json_value(value))
        self.found.append(value if isinstance(value, str) else data)
        return redacted_json(len(data))

    def _redact_struct(self, plan: Plan, value: Json) -> Json:
        changed: dict[str, Any] = {}
        for field in _list_fields_to_redact(plan):
            inner = value.get(field.name)
            if inner is None:
                continue
            if field.array and field.kind != "records":
                made = self._redact_list(inner, partial(self._redact_field, field, owner=value))
            else:
                made = self._redact_field(field, inner, owner=value)
            if made is not inner:
                changed[field.name] = made
        return {**value, **changed} if changed else value

    def _redact_list(self, values: Any, hide: Callable[[Any], Any]) -> Any:
        """The list with its elements hidden by `hide`; the same object where nothing in it is hidden."""
        if not isinstance(values, list):
            return values
        made = None
        for number, each in enumerate(values):
            found = hide(each)
            if found is not each:
                made = made or list(values)
                made[number] = found
        return made or values

    def _redact_field(self, field: PlanField, value: Any, *, owner: Json) -> Any:
        if field.plan is not None:
            return self._redact_struct(field.plan, value) if isinstance(value, dict) else value
        if field.secret:
            name = owner.get(field.unless) if field.unless else None
            return value if isinstance(name, str) and is_public_config(name) else self._redact_secret(field, value)
        return self._redact_structure_or_batches(value)

    def _redact_secret(self, field: PlanField, value: Any) -> Any:
        return (
            redacted_json(FIXED[field.kind])
            if field.kind in FIXED and not isinstance(value, dict)
            else self.redact_value(value)
        )

    def _redact_structure_or_batches(self, value: Any) -> Any:
        """A structure inside bytes, or batches, without secrets."""
        return (
            self._redact_structure(value) if isinstance(value, dict) else self._redact_list(value, self._redact_batch)
        )

    def _redact_structure(self, value: Json) -> Json:
        name, version = value.get(STRUCTURE), value.get(VERSION)
        if not isinstance(name, str) or not isinstance(version, int) or name not in STRUCTURES:
            return value
        message = parse_structure_declaration(name)
        return self._redact_struct(resolve(message, version), value) if version in message.versions else value

    def _redact_batch(self, batch: Any) -> Any:
        records = batch.get("records") if isinstance(batch, dict) else None
        made = self._redact_list(records, self._redact_record)
        return batch if made is records else {**batch, "records": made}

    def _redact_record(self, record: Any) -> Any:
        if not isinstance(record, dict):
            return record
        key, value = record.get("key"), record.get("value")
        if not self._metadata and key.__class__ is not dict and value.__class__ is not dict:
            return record
        shown = self._redact_structure_or_batches(key), self._redact_structure_or_batches(value)
        if self._metadata and "control_record" not in record:
            data = _bytes_of_json_value(value)
            if data is not None and metadata_record_holds_secret(data):
                shown = shown[0], self.redact_value(value)
        return record if shown[0] is key and shown[1] is value else {**record, "key": shown[0], "value": shown[1]}


@cache
def _list_fields_to_redact(plan: Plan) -> tuple[PlanField, ...]:
    """The fields of a struct that are secret, or contain secret fields, or are bytes that may hold secrets."""
    return tuple(
        field
        for field in (*plan.fields, *plan.tagged)
        if field.secret or (_list_fields_to_redact(field.plan) if field.plan is not None else field.kind in _HOLDING)
    )


def _bytes_of_json_value(value: Any) -> bytes | None:
    """The bytes that a value of a record stands for; None where it stands for none."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    text = value.get(BASE64) if isinstance(value, dict) else None
    try:
        return b64decode(text, validate=True) if isinstance(text, str) else None
    except (NotBase64, ValueError):
        return None


def _size_of_json_value(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0
