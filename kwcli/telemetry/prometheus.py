"""Families of numbers with labels in, lines in Prometheus' text format 0.0.4 out."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from decoders.named_tuple import NamedTuple
from decoders.wire.format_and_escape_text import escape_text

# Upper bounds in seconds; a Fetch that finds nothing waits half a second.
BOUNDS_S: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_BOUNDS_NS: Final = tuple(round(bound * 1e9) for bound in BOUNDS_S)
# The most characters of a label's value: names on the wire may be long.
LABEL_MAX: Final = 200


class Histogram:
    """Durations counted in buckets, with their sum, the least and the greatest, in ns."""

    __slots__ = ("counts", "least_ns", "most_ns", "total_ns")

    def __init__(self) -> None:
        self.counts = [0] * (len(_BOUNDS_NS) + 1)
        self.total_ns = self.least_ns = self.most_ns = 0

    def add(self, took_ns: int) -> None:
        """Count one duration."""
        self.counts[bisect_left(_BOUNDS_NS, took_ns)] += 1
        self.total_ns += took_ns
        if took_ns > self.most_ns:
            self.most_ns = took_ns
        if took_ns < self.least_ns or not self.least_ns:
            self.least_ns = took_ns


class Family(NamedTuple):
    """Numbers of one kind, each with its labels: `counter`, `gauge` or `histogram`. Names as Prometheus has them."""

    name: str
    kind: str
    text: str
    samples: Sequence[tuple[Mapping[str, str], float | Histogram]]


def format_family_lines(families: Iterable[Family]) -> Iterator[str]:
    """The lines of all families."""
    for each in families:
        yield from format_family_header(each.name, each.kind, each.text)
        for labels, value in each.samples:
            if isinstance(value, Histogram):
                yield from format_histogram_lines(each.name, labels, value)
            else:
                yield format_sample_line(each.name, labels, value)


def format_family_header(name: str, kind: str, text: str) -> Iterator[str]:
    """The HELP and TYPE lines of a family, which stand above its numbers."""
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"


def format_histogram_lines(name: str, labels: Mapping[str, str], value: Histogram) -> Iterator[str]:
    """The lines of one histogram."""
    so_far = 0
    for bound, count in zip((*BOUNDS_S, "+Inf"), value.counts, strict=True):
        so_far += count
        yield format_sample_line(f"{name}_bucket", {**labels, "le": str(bound)}, so_far)
    yield format_sample_line(f"{name}_sum", labels, value.total_ns / 1e9)
    yield format_sample_line(f"{name}_count", labels, so_far)


def format_sample_line(name: str, labels: Mapping[str, str], value: float) -> str:
    """The line of one number with its labels."""
    shown = ",".join(f'{key}="{_escape_label(text)}"' for key, text in labels.items())
    return f"{name}{{{shown}}} {value}" if shown else f"{name} {value}"


def clean_label(text: str) -> str:
    """A name from the wire as a label's value: unprintable characters escaped, and of a bounded length."""
    text = escape_text(text)
    return text if len(text) <= LABEL_MAX else f"{text[: LABEL_MAX - 1]}…"


def _escape_label(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
