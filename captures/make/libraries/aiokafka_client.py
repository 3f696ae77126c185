import asyncio
import sys

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer  # type: ignore[import-untyped]  # it has no types

place, topic, group = sys.argv[1:4]


async def main() -> None:
    p = AIOKafkaProducer(bootstrap_servers=place)
    await p.start()
    for _ in range(20):
        await p.send_and_wait(topic, b"x")
    await p.stop()
    c = AIOKafkaConsumer(topic, bootstrap_servers=place, group_id=group, auto_offset_reset="earliest")
    await c.start()
    for _ in range(20):
        await asyncio.wait_for(c.getone(), 8)
    await c.stop()


asyncio.run(main())
