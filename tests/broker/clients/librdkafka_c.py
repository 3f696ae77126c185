"""librdkafka of any release through its C functions: its Python wheels need a Python as old as the release."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from ctypes import (
    CDLL,
    Structure,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_void_p,
    create_string_buffer,
    string_at,
)
from typing import Any, Final

from tests.broker.clients import steps
from tests.broker.wheels import librdkafka

_PRODUCER: Final = 0
_CONSUMER: Final = 1
_COPY: Final = 2  # RD_KAFKA_MSG_F_COPY
_ANY: Final = -1  # RD_KAFKA_PARTITION_UA
_SAID: Final = 512


class Message(Structure):
    """`rd_kafka_message_t`."""

    _fields_ = (
        ("err", c_int),
        ("rkt", c_void_p),
        ("partition", c_int32),
        ("payload", c_void_p),
        ("len", c_size_t),
        ("key", c_void_p),
        ("key_len", c_size_t),
        ("offset", c_int64),
        ("_private", c_void_p),
    )


def _library(release: str) -> CDLL:
    rd = CDLL(str(librdkafka(release)))
    for name in ("rd_kafka_conf_new", "rd_kafka_new", "rd_kafka_topic_new", "rd_kafka_topic_partition_list_new"):
        getattr(rd, name).restype = c_void_p
    rd.rd_kafka_consumer_poll.restype = c_void_p
    rd.rd_kafka_topic_name.restype = c_char_p
    return rd


def _handle(rd: CDLL, kind: int, settings: Mapping[str, str]) -> c_void_p:
    said = create_string_buffer(_SAID)
    conf = c_void_p(rd.rd_kafka_conf_new())
    for name, value in settings.items():
        if rd.rd_kafka_conf_set(conf, name.encode(), str(value).encode(), said, c_size_t(_SAID)):
            raise RuntimeError(said.value.decode())
    made = rd.rd_kafka_new(kind, conf, said, c_size_t(_SAID))
    if not made:
        raise RuntimeError(said.value.decode())
    return c_void_p(made)


def produce(
    rd: CDLL,
    bootstrap: str,
    properties: dict[str, str],
    *,
    topic: str,
    count: int = 10,
    size: int = 0,
    first: int = 0,
    config: Mapping[str, str] | None = None,
) -> int:
    """Send `count` records; gives how many the library took and delivered."""
    handle = _handle(rd, _PRODUCER, {"bootstrap.servers": bootstrap, **properties, **(config or {})})
    place = c_void_p(rd.rd_kafka_topic_new(handle, topic.encode(), None))
    for key, value in steps.values(count, size, first):
        rd.rd_kafka_produce(place, _ANY, _COPY, value, c_size_t(len(value)), key, c_size_t(len(key or b"")), None)
    rd.rd_kafka_flush(handle, 20_000)
    left = int(rd.rd_kafka_outq_len(handle))
    rd.rd_kafka_topic_destroy(place)
    rd.rd_kafka_destroy(handle)
    return count - left


def consume(
    rd: CDLL,
    bootstrap: str,
    properties: dict[str, str],
    *,
    topics: list[str],
    group: str,
    count: int = 10,
    polls: int = 60,
) -> list[dict[str, Any]] | int:
    """Read until `count` records came; gives the records without their timestamps and headers."""
    settings = {"group.id": group, "auto.offset.reset": "earliest"}
    handle = _handle(rd, _CONSUMER, {"bootstrap.servers": bootstrap, **properties, **settings})
    wanted = c_void_p(rd.rd_kafka_topic_partition_list_new(len(topics)))
    for topic in topics:
        rd.rd_kafka_topic_partition_list_add(wanted, topic.encode(), _ANY)
    rd.rd_kafka_subscribe(handle, wanted)
    found = steps.Found(count, polls)
    while found.wants_more():
        address = rd.rd_kafka_consumer_poll(handle, 500)
        if not address:
            continue
        message = Message.from_address(address)
        if not message.err:
            key = string_at(message.key, message.key_len) if message.key else None
            value = string_at(message.payload, message.len) if message.payload else None
            name = rd.rd_kafka_topic_name(c_void_p(message.rkt)).decode()
            found.add([steps.record(name, message.partition, message.offset, -1, key, value, [])])
        rd.rd_kafka_message_destroy(c_void_p(address))
    rd.rd_kafka_consumer_close(handle)
    rd.rd_kafka_destroy(handle)
    return found.answer()


if __name__ == "__main__":
    library = _library(sys.argv[3])
    functions: dict[str, Callable[..., Any]] = {
        each.__name__: lambda *args, each=each, **more: each(library, *args, **more) for each in (produce, consume)
    }
    sys.exit(steps.main(functions, sys.argv[1:]))
