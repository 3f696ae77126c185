"""A filter about the contents of records in; a test of one record, and one of the bytes of a plain batch, out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from decoders.filters.parse_expression import All, Always, Any_, Atom, Not
from decoders.wire.primitive_types import encode_varint

if TYPE_CHECKING:
    from decoders.filters.decoded_value_fields import BatchTest
    from decoders.filters.parse_expression import Node
    from decoders.records.record_and_batch import Row

__all__ = ["RecordTest", "make_batch_test", "make_record_test"]

# Topic and record in, whether the record passes out.
RecordTest = Callable[["str | None", "Row"], bool]
# The most parts of an expression that are asked of the bytes of a batch.
_PARTS_MAX: Final = 8


def make_record_test(node: Node) -> RecordTest:
    """Whether a filter would pass an exchange that has one record alone; all its questions are about records."""
    if isinstance(node, Always):
        return lambda _topic, _record: True
    if isinstance(node, Atom):
        return _make_test_of_atom(node)
    if isinstance(node, Not):
        inner = make_record_test(node.node)
        return lambda topic, record: not inner(topic, record)
    tests = [make_record_test(each) for each in node.nodes]
    if isinstance(node, All):
        return lambda topic, record: all(test(topic, record) for test in tests)
    return lambda topic, record: any(test(topic, record) for test in tests)


def _make_test_of_atom(atom: Atom) -> RecordTest:
    get = atom.row.of_record
    assert get is not None, atom.name
    passes = _make_test_of_content(atom)
    make_prefilter = getattr(atom.row.get, "make_prefilter", None)
    if make_prefilter is None:
        return lambda topic, record: any(map(passes, get(topic, record)))
    prefilter = make_prefilter(passes)
    return lambda topic, record: prefilter(record) and any(map(passes, get(topic, record)))


def _make_test_of_content(atom: Atom) -> Callable[[Any], bool]:
    return atom.make_test_of_record_content() if atom.kind == "record_content" else atom.passes


def make_batch_test(node: Node, *, by_search: bool = False) -> BatchTest | None:
    """Whether a record of a plain batch may pass, by the batch's bytes; None where these do not tell.

    `by_search`: by a search for the texts alone that the records have, which takes a hundredth of the time of reading
    them. Else also by what JSON has behind the name of a field, for half of that time.
    """
    if isinstance(node, Atom):
        make_prefilter = getattr(node.row.get, "make_batch_prefilter", None)
        if make_prefilter is None:
            return _make_search_of_needle(node)
        return None if by_search else make_prefilter(_make_test_of_content(node))
    if not isinstance(node, All | Any_):
        return None
    parts = [make_batch_test(each, by_search=by_search) for each in node.nodes]
    tests = [each for each in parts if each is not None]
    if not tests or len(tests) > _PARTS_MAX or (isinstance(node, Any_) and len(tests) < len(parts)):
        return None
    if len(tests) == 1:
        return tests[0]
    join = all if isinstance(node, All) else any
    return lambda data, at, stop: join(test(data, at, stop) for test in tests)


def _make_search_of_needle(atom: Atom) -> BatchTest | None:
    # What is no UTF-8 is compared with U+FFFD in its place.
    if atom.row.kind != "record_content" or not atom.needle or "\ufffd" in atom.needle:
        return None
    needle = atom.needle.encode("utf-8", "surrogateescape")
    if not atom.needle_is_value:
        return lambda data, at, stop: data.find(needle, at, stop) >= 0
    # The size stands before it, as a varint that ends with 0 where it is longer than need be.
    sized, padded = encode_varint(len(needle)) + needle, b"\0" + needle
    return lambda data, at, stop: data.find(sized, at, stop) >= 0 or data.find(padded, at, stop) >= 0
