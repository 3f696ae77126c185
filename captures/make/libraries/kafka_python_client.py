import sys

from kafka import KafkaConsumer, KafkaProducer  # type: ignore[import-untyped]  # it has no types

place, topic, group = sys.argv[1:4]
p = KafkaProducer(bootstrap_servers=place)
for _ in range(20):
    p.send(topic, b"x")
p.flush()
p.close()
c = KafkaConsumer(
    topic, bootstrap_servers=place, group_id=group, auto_offset_reset="earliest", consumer_timeout_ms=8000
)
for read, _ in enumerate(c, 1):
    if read >= 20:
        break
c.commit()
c.close()
