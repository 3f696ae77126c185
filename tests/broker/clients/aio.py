"""aiokafka."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import aiokafka  # type: ignore[import-untyped]  # it has no types
from aiokafka import admin as aio_admin
from aiokafka.errors import KafkaError  # type: ignore[import-untyped]  # it has no types

from tests.broker.clients import steps

_CODECS = {"none": None}


def create(bootstrap: str, properties: dict[str, str], *, topics: dict[str, int], replicas: int = 1) -> str:
    """CreateTopics."""

    async def work() -> str:
        client = aio_admin.AIOKafkaAdminClient(bootstrap_servers=bootstrap, **steps.python_settings(properties))
        await client.start()
        wanted = [aio_admin.NewTopic(name, count, replicas) for name, count in topics.items()]
        answer = await client.create_topics(wanted)
        await client.describe_cluster()
        await client.list_consumer_groups()
        await client.close()
        return str(answer)

    return asyncio.run(work())


def produce(
    bootstrap: str,
    properties: dict[str, str],
    *,
    topic: str,
    count: int = 10,
    size: int = 0,
    first: int = 0,
    partition: int | None = None,
    headers: dict[str, str] | None = None,
    batches: int = 1,
    config: Mapping[str, str] | None = None,
) -> int:
    """Send `count` records in `batches` rounds, each flushed; gives how many were acknowledged."""

    async def work() -> int:
        settings = {**properties, **(config or {})}
        acks: Any = settings.get("acks", "all")
        codec = settings.get("compression.type", "none")
        producer = aiokafka.AIOKafkaProducer(
            bootstrap_servers=bootstrap,
            acks=acks if acks == "all" else int(acks),
            compression_type=_CODECS.get(codec, codec),
            enable_idempotence=settings.get("enable.idempotence") == "true",
            **steps.python_settings(settings),
        )
        await producer.start()
        marks = [(name, value.encode()) for name, value in (headers or {}).items()]
        waiting = []
        for number, (key, value) in enumerate(steps.values(count, size, first)):
            waiting.append(await producer.send(topic, value, key, partition=partition, headers=marks))
            if (number + 1) % max(1, count // batches) == 0:
                await asyncio.wait(waiting)
        done = await asyncio.gather(*waiting, return_exceptions=True)
        await producer.stop()
        return sum(not isinstance(each, BaseException) for each in done)

    return asyncio.run(work())


def consume(
    bootstrap: str,
    properties: dict[str, str],
    *,
    topics: list[str],
    group: str | None = None,
    count: int = 10,
    polls: int = 60,
    keep: bool = True,
    config: Mapping[str, str] | None = None,
) -> list[dict[str, Any]] | int:
    """Read until `count` records came; gives the records (or their number)."""

    async def work() -> list[dict[str, Any]] | int:
        consumer = aiokafka.AIOKafkaConsumer(
            *topics,
            bootstrap_servers=bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            **steps.python_settings({**properties, **(config or {})}),
        )
        await consumer.start()
        found = steps.Found(count, polls, keep=keep)
        while found.wants_more():
            for each in (await consumer.getmany(timeout_ms=500)).values():
                found.add(map(_read, each))
        if group:
            await consumer.commit()
        # It raises CancelledError for its own tasks if a fetch has failed just before.
        with suppress(asyncio.CancelledError):
            await consumer.stop()
        return found.answer()

    return asyncio.run(work())


def _read(message: Any) -> dict[str, Any]:
    headers = [(name, data) for name, data in message.headers]
    place = (message.topic, message.partition, message.offset, message.timestamp)
    return steps.record(*place, message.key, message.value, headers)


def transact(
    bootstrap: str,
    properties: dict[str, str],
    *,
    topic: str,
    id: str,
    count: int = 5,
    ends: list[str] | None = None,
    tell: bool = False,
) -> int | list[str]:
    """One transaction per word of `ends` (`commit` or `abort`); `tell`: gives the outcome of each."""

    async def work() -> list[str]:
        producer = aiokafka.AIOKafkaProducer(
            bootstrap_servers=bootstrap, transactional_id=id, **steps.python_settings(properties)
        )
        await producer.start()

        async def play(number: int, end: str) -> None:
            await producer.begin_transaction()
            for key, value in steps.values(count, 0, number * count):
                await producer.send_and_wait(topic, value, key)
            await (producer.commit_transaction() if end == "commit" else producer.abort_transaction())

        # `steps.transactions` is not async; in a thread it can wait for this loop.
        loop = asyncio.get_running_loop()
        failures = (KafkaError,) if tell else ()
        done = await asyncio.to_thread(
            steps.transactions,
            ends or ["commit"],
            lambda number, end: asyncio.run_coroutine_threadsafe(play(number, end), loop).result(),
            lambda: asyncio.run_coroutine_threadsafe(producer.abort_transaction(), loop).result(),
            failures,
        )
        await producer.stop()
        return done

    done = asyncio.run(work())
    return done if tell else len(done)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "create": create,
    "produce": produce,
    "consume": consume,
    "transact": transact,
}

if __name__ == "__main__":
    sys.exit(steps.main(FUNCTIONS, sys.argv[1:]))
