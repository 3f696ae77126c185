"""No secret of the captures that ship is in any output format unless it is asked for."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from decoders.messages.build_body_json import Options
from decoders.messages.exchange_json import to_json_dict
from tests.broker.options import PASSWORDS
from tests.captures.reading import settled
from tests.captures.shipped import CLEAN, FOLDER, capture_bytes
from tests.cli.worlds import kw

_NAMES = frozenset({"auth_bytes", "salt", "salted_password", "hmac", "token_bytes"})
# Shorter secrets may be part of another text.
_LEAST = 6


def _secrets(value: Any) -> Iterator[bytes]:
    """The values of secret fields in a record whose secrets are revealed."""
    if isinstance(value, list):
        for each in value:
            yield from _secrets(each)
    elif isinstance(value, dict):
        for name, each in value.items():
            if name in _NAMES and each:
                yield base64.b64decode(each["base64"]) if isinstance(each, dict) else each.encode()
            else:
                yield from _secrets(each)


def _all_secrets(name: str) -> set[bytes]:
    found = {password.encode() for password in PASSWORDS.values()} | {b"carol-secret"}
    for each in settled(capture_bytes(name)):
        record = to_json_dict(each, Options(records=True, reveal_secrets=True))
        if record.get("status") == "token":
            found |= {raw[4:] for raw in (each.request_raw, each.response_raw) if raw}  # type: ignore[union-attr]
        else:
            found |= set(_secrets(record))
    return {secret for secret in found if len(secret) >= _LEAST}


def _forms(secret: bytes) -> Iterator[str]:
    """The forms of a secret in an output: text, JSON text, hex, base64 at any offset."""
    yield secret.hex()
    text = secret.decode("latin-1")
    if text.isascii():
        yield from (text, json.dumps(text)[1:-1])
    for shift in range(3):
        # Without the characters at both ends, which depend on the bytes around.
        yield base64.b64encode(b"\0" * shift + secret).decode().rstrip("=")[4 if shift else 0 : -1]


@pytest.mark.long
@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", [each for each in CLEAN if each.startswith(("sasl", "first", "share"))])
def test_secrets_stay_inside(name: str) -> None:
    forms = {form for secret in _all_secrets(name) for form in _forms(secret) if len(form) >= _LEAST}
    assert forms
    for options in (
        ["-o", "ndjson", "--records"],
        ["-o", "json"],
        ["-o", "csv"],
        ["-o", "text", "-vv"],
        ["-o", "table"],
        ["-o", "hex"],
    ):
        shown = kw("sniff", str(FOLDER / name), *options)
        assert shown.code == 0
        leaked = [form for form in forms if form in shown.out or form in shown.err]
        assert leaked == [], options


@pytest.mark.parametrize("name", ["sasl-framed.pcapng", "sasl-raw.pcap"])
def test_secrets_are_shown_to_who_asks(name: str) -> None:
    shown = kw("sniff", str(FOLDER / name), "-o", "ndjson", "--reveal-secrets").out
    assert any(form in shown for form in _forms(b"admin-secret"))
