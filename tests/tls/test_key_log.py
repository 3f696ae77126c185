"""Key logs: the lines that are taken, the errors for others, and that no secret is shown."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from decoders.tls.key_log import KeyLog, KeyLogFeed

RANDOM = bytes(range(32))
OTHER = bytes(range(1, 33))
MASTER = bytes(range(100, 148))
SECRET = bytes(range(50, 82))
LINE = b"CLIENT_RANDOM %s %s" % (RANDOM.hex().encode(), MASTER.hex().encode())


def line(label: str, secret: bytes = SECRET, client_random: bytes = RANDOM) -> bytes:
    return f"{label} {client_random.hex()} {secret.hex()}".encode()


@pytest.mark.parametrize(
    ("label", "size"),
    [
        ("CLIENT_RANDOM", 48),
        ("CLIENT_EARLY_TRAFFIC_SECRET", 32),
        ("CLIENT_HANDSHAKE_TRAFFIC_SECRET", 32),
        ("SERVER_HANDSHAKE_TRAFFIC_SECRET", 48),
        ("CLIENT_TRAFFIC_SECRET_0", 48),
        ("SERVER_TRAFFIC_SECRET_0", 32),
        ("SERVER_TRAFFIC_SECRET_17", 32),
    ],
)
def test_a_secret_is_found_by_label_and_client_random(label: str, size: int) -> None:
    log = KeyLog()
    log.add_lines(line(label, bytes(size)))
    assert log.find_secret(label, RANDOM) == bytes(size)
    assert log.find_secret(label, OTHER) is None
    assert log.find_secret("CLIENT_TRAFFIC_SECRET_99", RANDOM) is None
    assert (dict(log.counts), log.version, len(log)) == ({"secrets": 1}, 1, 1)


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        (b"", {}),
        (b"# made by a client\n\n   \r\n", {}),
        (LINE + b"\r\n" + LINE.upper().replace(b"CLIENT_RANDOM", b"CLIENT_RANDOM") + b"\n", {"secrets": 2}),
        (b"\xef\xbb\xbf" + LINE, {"secrets": 1}),
        (b"\t" + LINE.replace(b" ", b"   ") + b"  ", {"secrets": 1}),
        (b"RSA 0123456789abcdef " + b"00" * 48, {"rsa": 1}),
        (b"RSA Session-ID:00 Master-Key:00", {"unreadable": 1}),
        (b"RSA Session-ID: Master-Key:" + b"00" * 48, {"unreadable": 1}),
        (b"RSA Session-ID:zz Master-Key:" + b"00" * 48, {"unreadable": 1}),
        (b"RSA Session-ID:0A Master-Key:" + b"00" * 48, {"secrets": 1}),
        (b"PMS_CLIENT_RANDOM 00 00", {"rsa": 1}),
        (line("EXPORTER_SECRET"), {"unused": 1}),
        (line("EARLY_EXPORTER_SECRET"), {"unused": 1}),
        (line("QUIC_SERVER_TRAFFIC_SECRET_0"), {"unused": 1}),
        (line("CLIENT_TRAFFIC_SECRET_x"), {"unused": 1}),
        (line("CLIENT_RANDOM", bytes(47)), {"unreadable": 1}),
        (line("CLIENT_TRAFFIC_SECRET_0", bytes(20)), {"unreadable": 1}),
        (line("CLIENT_RANDOM", MASTER, bytes(31)), {"unreadable": 1}),
        (LINE[:-1], {"unreadable": 1}),
        (LINE + b" 00", {"unreadable": 1}),
        (b"CLIENT_RANDOM", {"unreadable": 1}),
        (b"-----BEGIN PRIVATE KEY-----\nMIIEvg==\n", {"unreadable": 2}),
        (b"\0\xff\xfe\n\x80", {"unreadable": 2}),
    ],
)
def test_what_becomes_of_a_line(text: bytes, counts: dict[str, int]) -> None:
    log = KeyLog()
    log.add_lines(text)
    assert dict(log.counts) == counts


def test_a_session_of_java_is_found_by_its_session_id() -> None:
    log = KeyLog()
    log.add_lines(b"RSA Session-ID:0A0B Master-Key:" + MASTER.hex().upper().encode())
    assert log.find_secret("Session-ID", b"\x0a\x0b") == MASTER
    assert log.find_secret("CLIENT_RANDOM", b"\x0a\x0b") is None


def test_a_line_that_comes_again_is_nothing_new() -> None:
    log = KeyLog()
    log.add_lines(LINE + b"\n" + LINE)
    assert log.version == 1
    log.add_lines(line("CLIENT_RANDOM", bytes(48)))
    assert log.version == 2
    assert log.find_secret("CLIENT_RANDOM", RANDOM) == bytes(48)


def test_of_more_sessions_than_the_limit_the_newest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("decoders.tls.key_log.TLS_SECRETS_MAX", 3)
    log = KeyLog()
    randoms = [bytes([number]) * 32 for number in range(10)]
    for number, client_random in enumerate(randoms):
        log.add_lines(line("CLIENT_TRAFFIC_SECRET_0", client_random=client_random))
        log.add_lines(line("SERVER_TRAFFIC_SECRET_0", client_random=client_random))
        kept = randoms[max(number - 2, 0) : number + 1]
        assert [each for each in randoms if log.count_secrets(each) == 2] == kept
        assert [each for each in randoms if log.count_secrets(each)] == kept
    assert (dict(log.counts), len(log)) == ({"secrets": 20, "dropped": 7}, 3)


def test_the_secrets_of_one_session_are_bounded() -> None:
    log = KeyLog()
    for number in range(1000):
        log.add_lines(line(f"CLIENT_TRAFFIC_SECRET_{number}"))
    log.add_lines(line("CLIENT_TRAFFIC_SECRET_0", bytes(32)))
    assert (log.count_secrets(RANDOM), dict(log.counts)) == (64, {"secrets": 65, "surplus": 936})
    assert log.find_secret("CLIENT_TRAFFIC_SECRET_0", RANDOM) == bytes(32)


@pytest.mark.parametrize("text", [b"\n" * 1_100_000, b"a" * (1 << 22), b"\n".join([LINE] * 6_000), b"a\r" * 9000])
def test_a_long_text_is_taken_like_its_pieces(text: bytes) -> None:
    whole, pieces = KeyLog(), KeyLog()
    whole.add_lines(text)
    for each in text.splitlines():
        pieces.add_line(each)
    assert whole.counts == pieces.counts


def test_what_reads_the_key_logs_is_called_once() -> None:
    log = KeyLog()
    log.ensure_read()
    log.read_first = lambda: log.add_lines(LINE)
    assert not len(log)
    log.ensure_read()
    log.ensure_read()
    assert (len(log), dict(log.counts)) == (1, {"secrets": 1})


def test_a_source_that_begins_within_a_line() -> None:
    log = KeyLog()
    feed = KeyLogFeed(log, within=True)
    for piece in (LINE[40:], b"", b"\n" + LINE[:7], LINE[7:] + b"\n"):
        feed.feed(piece)
    assert dict(log.counts) == {"secrets": 1}


def test_nothing_of_a_key_is_shown() -> None:
    log = KeyLog()
    log.add_lines(LINE)
    assert repr(log) == "<KeyLog of 1 sessions>"
    assert MASTER.hex() not in str(log)


TEXT = LINE + b"\n" + line("SERVER_TRAFFIC_SECRET_0") + b"\r\nRSA 00 00\n" + line("CLIENT_TRAFFIC_SECRET_0")


@given(st.lists(st.integers(0, len(TEXT))))
def test_any_cut_of_a_file_gives_the_same(cuts: list[int]) -> None:
    whole, cut = KeyLog(), KeyLog()
    whole.add_lines(TEXT)
    feed = KeyLogFeed(cut)
    places = [0, *sorted(cuts), len(TEXT)]
    for begin, end in pairwise(places):
        feed.feed(TEXT[begin:end])
    feed.finish()
    labels = ("CLIENT_RANDOM", "SERVER_TRAFFIC_SECRET_0", "CLIENT_TRAFFIC_SECRET_0")
    assert cut.counts == whole.counts == {"secrets": 3, "rsa": 1}
    assert [cut.find_secret(each, RANDOM) for each in labels] == [MASTER, SECRET, SECRET]


def test_a_line_is_taken_once_it_is_whole() -> None:
    log = KeyLog()
    feed = KeyLogFeed(log)
    feed.feed(LINE[:-2])
    assert not len(log)
    feed.feed(LINE[-2:])
    assert not len(log)
    feed.feed(b"\n")
    assert len(log) == 1


def test_bytes_without_a_line_are_not_kept() -> None:
    feed = KeyLogFeed(KeyLog())
    for _ in range(100):
        feed.feed(bytes(1000))
    assert len(feed._rest) == 4096
    feed.feed(b"\n")
    assert feed._rest == b""


@given(st.binary(max_size=300))
@example(b"\x0b")
def test_any_bytes_are_taken(data: bytes) -> None:
    log = KeyLog()
    log.add_lines(data)
    log.add_lines(LINE[:20] + data)
    assert log.version <= 1
