"""A transaction in, the `kw call` line out that aborts it: through its coordinator, or at a partition's leader."""

from __future__ import annotations

from collections.abc import Iterable
from shlex import quote
from typing import Final

__all__ = ["make_abort_command", "make_describe_producers_command", "make_marker_command"]

# The timeout that the new producer is given; what matters is that InitProducerId aborts the transaction of the old one.
_TIMEOUT_MS: Final = 60_000


def make_abort_command(broker: str, transactional_id: str) -> str:
    """The command with which a coordinator aborts the open transaction of an id, and shuts its producer out."""
    return (
        f"kw call InitProducerId -b {broker} {quote(f'transactional_id={transactional_id}')}"
        f" transaction_timeout_ms={_TIMEOUT_MS}"
    )


def make_describe_producers_command(leader: str, topic: str, partition: int) -> str:
    """The command that shows whose transaction is open in a partition."""
    return (
        f"kw call DescribeProducers -b {leader} {quote(f'topics[0].name={topic}')}"
        f" 'topics[0].partition_indexes:=[{partition}]'"
    )


def make_marker_command(
    leader: str,
    places: Iterable[tuple[str, int]],
    producer: tuple[int | str, int | str],
    coordinator_epoch: int | None = None,
) -> str:
    """The command that writes an abort marker for a producer, (id, epoch), into partitions of one leader (KIP-664).

    Without `coordinator_epoch`, which must not be smaller than that of the latest marker, it is left out: 0.
    """
    by_topic: dict[str, list[str]] = {}
    for topic, number in places:
        by_topic.setdefault(topic, []).append(str(number))
    words = [
        *(f"producer_id={producer[0]}", f"producer_epoch={producer[1]}", "transaction_result=false"),
        *(
            word
            for at, (topic, numbers) in enumerate(by_topic.items())
            for word in (f"topics[{at}].name={topic}", f"topics[{at}].partition_indexes:=[{','.join(numbers)}]")
        ),
        *([] if coordinator_epoch is None else [f"coordinator_epoch={max(coordinator_epoch, 0)}"]),
    ]
    return f"kw call WriteTxnMarkers -b {leader} {' '.join(quote(f'markers[0].{word}') for word in words)}"
