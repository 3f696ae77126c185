"""The bytes of two streams that may be written: all but secrets, however they are cut, and whatever is missing."""

from __future__ import annotations

from functools import cache
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoders.messages.whole_messages import encode_request, encode_response
from decoders.records.encode_batches import encode_batch
from decoders.records.record_and_batch import Record
from kwcli.proxy.log.log_protocol import CLIENT, SERVER
from kwcli.proxy.log.redact_streams import LoggedChunk, Redactor, SharedKnowledge
from tests.captures.test_secrets import _all_secrets
from tests.proxy.log.played import chunks_of

NAMES = ["sasl-framed.pcapng", "sasl-raw.pcap"]
Said = tuple[int, bytes]


@cache
def _talks(name: str) -> list[list[Said]]:
    """The (side, bytes) of each connection of a capture."""
    talks: dict[int, list[Said]] = {}
    for half, _, _, data in chunks_of(name):
        if isinstance(data, bytes):
            side = CLIENT if half is half.connection.first else SERVER
            talks.setdefault(half.connection.number, []).append((side, data))
    return list(talks.values())


@cache
def _secrets(name: str) -> set[bytes]:
    return _all_secrets(name)


def _shown(pieces: list[LoggedChunk], side: int) -> bytes:
    """The bytes that may be written of one side, with zeros for the others."""
    out = b""
    for piece in pieces:
        if piece.side == side:
            kept = bytes(piece.shown[: piece.cut]) if piece.cut is not None else bytes(piece.shown)
            out += kept.ljust(len(piece.data) or piece.gap, b"\0")
    return out


def _frame(frame: bytes) -> bytes:
    return len(frame).to_bytes(4, "big") + frame


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), missing=st.booleans())
def test_no_secret_passes_however_it_is_cut_and_whatever_is_missing(name: str, seed: int, missing: bool) -> None:
    rng = Random(seed)
    secrets = _secrets(name)
    seen = SharedKnowledge()
    for talk in rng.sample(_talks(name), 6):
        redactor = Redactor(seen)
        pieces: list[LoggedChunk] = []
        for side, data in talk:
            while data:
                size = rng.choice([1, 2, 5, 13, 60, len(data)])
                if missing and rng.random() < 0.05:
                    pieces += redactor.note_missing_bytes(side, 1, len(data[:size]))
                else:
                    pieces += redactor.feed(side, 1, data[:size])
                data = data[size:]
        pieces += redactor.finish()
        for side in (CLIENT, SERVER):
            said = b"".join(data for who, data in talk if who == side)
            shown = _shown(pieces, side)
            assert len(shown) == len(said)
            assert [secret for secret in secrets if secret in shown] == []
            if not missing:
                # The only differences are stars.
                assert all(new in (old, ord("*")) for old, new in zip(said, shown, strict=True))


def test_what_has_no_secret_passes_at_once_and_what_may_have_one_waits() -> None:
    redactor = Redactor(SharedKnowledge())
    ask = _frame(encode_request(3, 9, {"topics": []}, correlation_id=1, client_id="c"))
    token = _frame(encode_request(36, 2, {"auth_bytes": b"\0user\0secret"}, correlation_id=2, client_id="c"))
    assert [piece.shown for piece in redactor.feed(CLIENT, 1, ask[:9])] == []
    assert [piece.shown for piece in redactor.feed(CLIENT, 1, ask[9:14])] == [ask[:9], ask[9:14]]
    assert [piece.shown for piece in redactor.feed(CLIENT, 1, ask[14:])] == [ask[14:]]
    assert redactor.feed(CLIENT, 1, token[:-1]) == []
    assert redactor.feed(SERVER, 1, b"behind it") == []
    shown = [bytes(piece.shown) for piece in redactor.feed(CLIENT, 1, token[-1:])]
    assert b"".join(shown[0::2]) == token[: -len("\0user\0secret") - 1] + b"*" * 12 + b"\0"


def test_records_of_the_clusters_own_state() -> None:
    scram = bytes((1, 11, 0)) + b"salt and salted password"
    feature = bytes((1, 12, 0)) + b"metadata.version"
    batch = encode_batch([Record(0, 1, None, scram), Record(1, 1, None, feature)])
    topic = {"topic": "__cluster_metadata", "partitions": [{"partition": 0, "records": batch}]}
    asked = {"topics": [{"topic": "__cluster_metadata", "partitions": [{"partition": 0}]}]}
    redactor = Redactor(SharedKnowledge())
    redactor.feed(CLIENT, 1, _frame(encode_request(1, 12, asked, correlation_id=5)))
    answer = _frame(encode_response(1, 12, {"responses": [topic]}, correlation_id=5))
    half = len(answer) // 2
    assert redactor.feed(SERVER, 1, answer[:half]) == []
    shown = b"".join(bytes(piece.shown) for piece in redactor.feed(SERVER, 1, answer[half:]))
    assert shown == answer.replace(scram, b"*" * len(scram))
    assert feature in shown


def test_answers_to_what_was_not_seen_are_starred() -> None:
    redactor = Redactor(SharedKnowledge())
    (piece,) = redactor.feed(SERVER, 1, _frame(b"\0\0\0\7hidden"))
    assert bytes(piece.shown) == _frame(b"\0\0\0\7******")


def test_a_direction_out_of_step_is_left_out_until_it_is_in_step() -> None:
    redactor = Redactor(SharedKnowledge())
    ask = _frame(encode_request(3, 9, {"topics": []}, correlation_id=1, client_id="c"))
    redactor.feed(CLIENT, 1, ask)
    redactor.note_missing_bytes(CLIENT, 1, 100)
    assert redactor.lost_sides == [CLIENT]
    (piece,) = redactor.feed(CLIENT, 1, b"anything")
    assert piece.cut == 0
    redactor.resume_side(CLIENT)
    (piece,) = redactor.feed(CLIENT, 1, ask)
    assert (piece.cut, piece.shown) == (None, ask)


def test_a_token_behind_a_gap_is_no_request_of_the_future() -> None:
    token = _frame(b"\0Alice\0Wonderland")
    for begun, hidden in ((False, b"derland"), (True, b"Alice\0Wonderland")):
        redactor = Redactor(SharedKnowledge())
        redactor.feed(CLIENT, 1, _frame(encode_request(3, 9, {"topics": []}, correlation_id=1, client_id="c")))
        if begun:
            redactor.note_missing_bytes(CLIENT, 1, 100)
            redactor.resume_side(CLIENT)
        shown = _shown([*redactor.feed(CLIENT, 1, token), *redactor.finish()], CLIENT)
        assert hidden not in shown
        assert len(shown) == len(token)
