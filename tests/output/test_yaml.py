"""YAML documents have the values that JSON has, deferred values included."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from decoders.wire.deferred_json import DeferredList, DeferredText, make_json_pieces
from kwcli.output.yaml import encode_yaml_in_pieces
from tests.cli.worlds import kw
from tests.records.bombs import BOMBS, capture
from tests.sampling import sampled

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Later(DeferredList):
    """A deferred list in chunks of a few elements, with the fields to be shown beside it."""

    def __init__(self, elements: list[Any], beside: dict[str, Any]) -> None:
        self._elements = elements
        self._beside = beside

    def chunks(self) -> Iterator[list[Any]]:
        for at in range(0, len(self._elements), 3):
            yield self._elements[at : at + 3]

    def fields_following_list(self) -> dict[str, Any]:
        return self._beside


# Texts that YAML could read as other types, and the word that stands for deferred values.
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    st.sampled_from(
        ["deferred", "deferred0", "deferred-1", "null", "- a", "a: b", "'", '"', "\n\n", " x", "x\n y", "\x85", "~"]
    ),
    st.text(st.sampled_from("a \n"), min_size=100, max_size=300),
)
PLAIN = st.one_of(st.none(), st.booleans(), st.integers(-(2**53), 2**53), TEXTS)


def deferred(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Random structs with lists and texts, some of them deferred."""
    names = st.sampled_from(["name", "records", "deferred", "- x", "a b"])
    lists = st.lists(inner, max_size=8)
    plain = st.dictionaries(names, inner, max_size=4)
    with_list = st.builds(
        lambda rest, each, beside: {**rest, "each": Later(each, {"each_cut": beside} if beside else {})},
        plain,
        lists,
        st.integers(0, 2),
    )
    with_bytes = st.builds(
        lambda rest, data, text: {**rest, "value": DeferredText(data, text=text)},
        plain,
        st.one_of(st.binary(max_size=40), TEXTS.map(str.encode)),
        st.just(False),
    )
    return st.one_of(lists, plain, with_list, with_bytes)


@given(st.dictionaries(st.sampled_from(["kind", "request", "deferred"]), st.recursive(PLAIN, deferred, max_leaves=25)))
def test_a_document_reads_as_its_json(value: dict[str, Any]) -> None:
    document = b"".join(encode_yaml_in_pieces(value)).decode()
    assert document.startswith("---\n")
    assert yaml.safe_load(document) == json.loads(b"".join(make_json_pieces(value)))


@pytest.mark.long
def test_a_long_text_is_written_in_pieces() -> None:
    text = 'one "line"\\\n' + "é🙂\x00\x7f\u2028\ufeff" * 40_000
    pieces = [
        *encode_yaml_in_pieces({"value": DeferredText(text.encode(), text=True), "list": [DeferredText(b"\xff")]})
    ]
    assert max(map(len, pieces)) < 1 << 20
    assert yaml.safe_load(b"".join(pieces).decode()) == {"value": text, "list": [{"base64": "/w=="}]}


@pytest.mark.long
def test_long_lists_and_structs_are_written_in_pieces() -> None:
    errors = [
        {"path": f"topics[{number}].error_code", "code": 3, "more": [[1] * 300] * (number % 500 == 0)}
        for number in range(2000)
    ]
    value = {
        "errors": errors,
        "topic_names": {f"id {number}": [f"orders\n{number}"] for number in range(3000)},
        "a": [],
    }
    pieces = [*encode_yaml_in_pieces([value, {"errors": errors[:3]}])]
    assert max(map(len, pieces)) < 1 << 20
    assert yaml.load(b"".join(pieces), LOADER) == [value, {"errors": errors[:3]}]


@pytest.mark.long
@pytest.mark.parametrize("name", sampled(["tiny records gzip", "some headers", "topics", "failing topics"], 4))
def test_large_bodies_are_what_they_are_in_json(name: str, tmp_path: Any) -> None:
    path = tmp_path / "bomb.pcap"
    path.write_bytes(capture(BOMBS[name](40_000)))
    found = kw("sniff", str(path), "--records", "-o", "yaml", "-q").out
    assert [yaml.load(found, LOADER)] == json.loads(kw("sniff", str(path), "--records", "-o", "json", "-q").out)
