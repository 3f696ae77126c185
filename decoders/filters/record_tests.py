"""A filter about the contents of records in; a test of one record, and bytes that such records must have, out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from decoders.filters.parse_expression import All, Always, Any_, Atom, Not

if TYPE_CHECKING:
    from decoders.filters.parse_expression import Node
    from decoders.records.record_and_batch import Row

__all__ = ["RecordTest", "list_record_needles", "make_record_test"]

# Topic and record in, whether the record passes out.
RecordTest = Callable[["str | None", "Row"], bool]


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
    passes = atom.make_test_of_record_content() if atom.kind == "record_content" else atom.passes
    make_prefilter = getattr(atom.row.get, "make_prefilter", None)
    if make_prefilter is None:
        return lambda topic, record: any(map(passes, get(topic, record)))
    prefilter = make_prefilter(passes)
    return lambda topic, record: prefilter(record) and any(map(passes, get(topic, record)))


def list_record_needles(node: Node) -> list[bytes] | None:
    """Byte strings of which each record that passes alone has at least one, uncompressed; None: not known."""
    if isinstance(node, Atom):
        # What is no UTF-8 is compared with U+FFFD in its place.
        if node.row.kind != "record_content" or not node.needle or "\ufffd" in node.needle:
            return None
        return [node.needle.encode("utf-8", "surrogateescape")]
    if isinstance(node, All):
        known = [found for each in node.nodes if (found := list_record_needles(each)) is not None]
        return min(known, key=len) if known else None
    if isinstance(node, Any_):
        parts = [list_record_needles(each) for each in node.nodes]
        return None if None in parts else [one for each in parts if each is not None for one in each]
    return None
