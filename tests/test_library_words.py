"""What a program is told: by signatures, by errors of words that mean nothing, by `Needs` and `KeyLog`."""

from __future__ import annotations

import inspect
import pickle
import pydoc
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

import decoders
from decoders import DecodeError, EncodeError, KeyLog, Needs, Truncated, UnknownApi, UnsupportedVersion, read_exchanges

CAPTURES: Final = Path(__file__).resolve().parents[1] / "captures"
TOUR: Final = (CAPTURES / "tour.pcapng").read_bytes()
SIGNATURES: Final = {
    "Record": "offset: int, timestamp: int | None, key: bytes | None, value: bytes | None, headers: tuple[",
    "Request": "api_key: int, api_version: int, correlation_id: int, client_id: str | None, header: dict[",
    "Response": "api_key: int, api_version: int, correlation_id: int, header: dict[",
    "Api": "key: int, name: str, versions: ",
    "Batch": "base_offset: ",
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_the_values_have_signatures(name: str) -> None:
    made = getattr(decoders, name)
    assert str(inspect.signature(made)).startswith(f"({SIGNATURES[name]}")
    assert f"  {name}({SIGNATURES[name]}" in pydoc.plain(pydoc.render_doc(made))


@pytest.mark.plain  # compiled classes have no docstrings
@pytest.mark.parametrize("name", decoders.__all__)
def test_every_public_name_has_a_docstring_of_its_own(name: str) -> None:
    found = getattr(decoders, name)
    assert found.__doc__
    assert found.__name__ == name


def test_help_and_completion_have_the_names_before_they_are_loaded() -> None:
    program = (
        "import pydoc, decoders, kwcli.pipeline, kwcli.reading\n"
        "assert {*decoders.__all__} <= {*dir(decoders)}\n"
        "assert 'to_arrow' in dir(kwcli.pipeline) and 'follow_exchanges' in dir(kwcli.reading)\n"
        "print(pydoc.plain(pydoc.render_doc(decoders)))"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert [name for name in decoders.__all__ if name not in shown] == []
    assert "    read_exchanges(*sources: " in shown
    assert "    class Exchange(Seen)\n" in shown or "    class Exchange(decoders." in shown


# What is asked for, and the error, which is about no byte.
ASKED: Final[dict[str, tuple[Callable[[], object], type[Exception], str]]] = {
    "API by key": (lambda: decoders.encode_request(999, 1, {}), UnknownApi, "no API 999"),
    "API by name": (lambda: decoders.api("Fetsch"), UnknownApi, "no API 'Fetsch' (did you mean \"Fetch\"?)"),
    "no API at all": (lambda: decoders.api("zzz"), UnknownApi, "no API 'zzz'"),
    "version": (
        lambda: decoders.encode_message(3, 99, "request", {}),
        UnsupportedVersion,
        f"MetadataRequest has versions {decoders.api(3).versions}, not 99",
    ),
    "layout": (
        lambda: decoders.encode_message(3, 12, "request", {}, layout="9.9"),
        UnsupportedVersion,
        "Metadata request version 12 has no layout of 9.9",
    ),
    "a list": (
        lambda: decoders.encode_message(3, 12, "request", [1]),  # type: ignore[arg-type]  # that is the point
        EncodeError,
        "a struct (dict) expected, not [1]",
    ),
    "structure": (
        lambda: decoders.encode_embedded("OffsetCommitKy", 1, {}),
        UnknownApi,
        "no structure 'OffsetCommitKy' (did you mean \"OffsetCommitKey\"?)",
    ),
    "a list for a structure": (
        lambda: decoders.encode_embedded("OffsetCommitKey", 1, [1]),  # type: ignore[arg-type]  # that is the point
        EncodeError,
        "a struct (dict) expected, not [1]",
    ),
}


@pytest.mark.parametrize("asked", ASKED)
def test_errors_of_what_a_program_asks_for_name_no_byte(asked: str) -> None:
    ask, kind, text = ASKED[asked]
    with pytest.raises(kind) as failed:
        ask()
    assert type(failed.value) is kind
    assert str(failed.value) == text


def test_errors_of_bytes_name_the_byte() -> None:
    with pytest.raises(Truncated, match=r"need 4 bytes .* at byte 0 \(request_api_key\)") as failed:
        decoders.decode_request(b"ab")
    assert (failed.value.offset, failed.value.path) == (0, "request_api_key")


@pytest.mark.parametrize(("offset", "place"), [(None, ""), (0, " at byte 0"), (7, " at byte 7")])
def test_an_error_that_is_handed_on_says_the_same(offset: int | None, place: str) -> None:
    error = DecodeError("no", offset=offset, path="a.b")
    again = pickle.loads(pickle.dumps(error))
    assert str(error) == str(again) == f"no{place} (a.b)"
    assert (again.offset, again.path) == (offset or 0, "a.b")


PATHS: Final = ("responses[].topic", "responses[].partitions[].high_watermark")


@pytest.mark.parametrize("api", ["Fetch", "fetch", 1])
def test_needs_are_what_view_gives(api: str | int) -> None:
    needs = Needs({(api, "response"): PATHS})
    found = [
        exchange.view("response")["responses"]
        for exchange in read_exchanges(TOUR, needs=needs)
        if exchange.api == "Fetch" and exchange.topics == ["orders"]
    ]
    assert [{"topic": "orders", "partitions": [{"high_watermark": 171}]}] in found
    assert repr(needs) == f"Needs({{('Fetch', 'response'): {sorted(PATHS)}}})"


def test_needs_of_one_api_by_name_and_by_key_are_united() -> None:
    both = Needs({("Fetch", "response"): PATHS[:1], (1, "response"): PATHS[1:]})
    assert both == Needs({(1, "response"): PATHS})


WRONG: Final[dict[str, tuple[Callable[[], Any], type[Exception], str]]] = {
    "API": (
        lambda: Needs({("Fetsch", "response"): PATHS}),
        UnknownApi,
        r"no API 'Fetsch' \(did you mean",
    ),
    "API by key": (lambda: Needs({(999, "response"): PATHS}), UnknownApi, "no API 999"),
    "a text": (lambda: Needs({("Fetch", "response"): PATHS[0]}), TypeError, r"paths of Fetch response are a list: \['"),
    "side": (lambda: Needs({("Fetch", "answer"): PATHS}), ValueError, "'request' or 'response', not 'answer'"),  # type: ignore[dict-item]  # that is the point
    "path": (
        lambda: Needs({("Fetch", "response"): ["responses[].topc"]}),
        ValueError,
        r'Fetch has no field "responses\[\].topc" in its response \(did you mean "responses\[\].topic"\?\)',
    ),
    "index": (
        lambda: Needs({("Metadata", "response"): ["topics[0].name"]}),
        ValueError,
        r'no field "topics\[0\].name" in its response \(did you mean "topics\[\].name"\?\)',
    ),
    "form": (
        lambda: Needs({("Fetch", "response"): ["responses[].topic:count"]}),
        ValueError,
        "this form is not for string",
    ),
    "a dict": (lambda: {("Fetch", "response"): PATHS}, TypeError, "needs is a Needs"),
}


@pytest.mark.parametrize("needs", WRONG)
def test_needs_that_mean_nothing_are_told_at_once(needs: str) -> None:
    make, kind, text = WRONG[needs]
    with pytest.raises(kind, match=text):
        read_exchanges(TOUR, needs=make())


def test_a_field_of_some_versions_is_a_need() -> None:
    needs = Needs({("Fetch", "request"): ["topics[].topic", "topics[].topic_id", "_tagged_fields"]})
    assert any(read_exchanges(TOUR, needs=needs))


def test_keys_are_a_key_log() -> None:
    with pytest.raises(TypeError, match=r"keys is a KeyLog, whose add_lines\(\) takes key logs, not bytes"):
        read_exchanges(TOUR, keys=b"CLIENT_RANDOM")  # type: ignore[arg-type]  # that is the point
    keys = KeyLog()
    keys.add_lines(b"# a comment\nCLIENT_RANDOM " + b"11" * 32 + b" " + b"22" * 48 + b"\n")
    assert len(keys) == 1
    assert "22" not in repr(keys)
    assert any(read_exchanges(TOUR, keys=keys))
