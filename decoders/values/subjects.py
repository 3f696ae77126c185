"""A topic in, the subject of its values out, and back, as serializers name them by default (TopicNameStrategy)."""

from __future__ import annotations

from typing import Final

__all__ = ["subject_of_values", "topic_of_subject"]

_VALUE: Final = "-value"


def subject_of_values(topic: str) -> str:
    """The subject of the values of a topic: `orders-value`."""
    return f"{topic}{_VALUE}"


def topic_of_subject(subject: str) -> str | None:
    """The topic whose values have a subject; None where its name is not that of values."""
    return subject.removesuffix(_VALUE) if subject.endswith(_VALUE) and subject != _VALUE else None
