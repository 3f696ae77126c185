"""Metrics that a client pushed, in JSON form, in; a line for each out: its value, its name, its attributes.

Records that were read may hold anything in the place of metrics: any other shape is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from decoders.embedded.otlp import CODEC, TEMPORALITY
from decoders.named_tuple import NamedTuple
from decoders.wire.readable_text import clean
from kwcli.output.short_texts import Palette, cell_width, count_of, cut

__all__ = ["metric_lines", "metrics_head"]

Json = Mapping[str, Any]
# The kinds of metrics in OTLP, and the word that is shown for each.
_KINDS: Final = {
    "gauge": "gauge",
    "sum": "sum",
    "histogram": "histogram",
    "exponential_histogram": "histogram",
    "summary": "summary",
}
_NO_VALUE: Final = "–"
# The deepest nesting of values that is shown.
_DEPTH_MAX: Final = 16
# Values are aligned on the right in so many cells at most.
_VALUE_MAX: Final = 14


class _Line(NamedTuple):
    """One data point: most metrics of Kafka's clients have one."""

    value: str
    name: str
    about: str
    kind: str


def metrics_head(metrics: Json) -> str:
    """`MetricsData zstd · 126 metrics · group_id=billing`: what holds for all of the metrics."""
    codec = metrics.get(CODEC)
    parts = [f"MetricsData {_text(codec)}" if codec else "MetricsData"]
    parts.append(count_of(sum(1 for _ in _metrics(metrics)), "metric"))
    return " · ".join(filter(None, [*parts, _common(metrics)]))


def metric_lines(metrics: Json, width: int | None, palette: Palette) -> Iterator[str]:
    """A line for each metric's data point, each cut to the width."""
    common = _common(metrics)
    lines = [line for about, metric in _metrics(metrics) for line in _points(metric, "" if about == common else about)]
    room = min(max((cell_width(line.value) for line in lines), default=0), _VALUE_MAX)
    for line in lines:
        lead, name = " " * (room - cell_width(line.value)) + line.value + "  ", line.name
        behind = "".join(f"  {text}" for text in (line.about, line.kind) if text)
        if width is not None:
            lead = cut(lead, width)
            name = cut(name, width - cell_width(lead))
            behind = cut(behind, width - cell_width(lead) - cell_width(name))
        yield f"{lead}{palette.name}{name}{palette.off}{behind}"


def _each(holder: Json, name: str) -> Iterator[Json]:
    """The objects in the list of this name."""
    found = holder.get(name)
    return (each for each in found if isinstance(each, dict)) if isinstance(found, list) else iter(())


def _inner(holder: Json, name: str) -> Json:
    found = holder.get(name)
    return found if isinstance(found, dict) else {}


def _text(value: object) -> str:
    return clean(value if isinstance(value, str) else str(value))


def _metrics(metrics: Json) -> Iterator[tuple[str, Json]]:
    """Each metric with the attributes of its resource and the name of its scope."""
    for resource in _each(metrics, "resource_metrics"):
        above = _attributes(_inner(resource, "resource"))
        for scope in _each(resource, "scope_metrics"):
            named = _inner(scope, "scope")
            words = [above, *(_text(named[name]) for name in ("name", "version") if named.get(name))]
            for metric in _each(scope, "metrics"):
                yield " ".join(filter(None, words)), metric


def _common(metrics: Json) -> str:
    """The resource and scope that all metrics have in common; empty where they differ."""
    said = {about for about, _ in _metrics(metrics)}
    return said.pop() if len(said) == 1 else ""


def _points(metric: Json, about: str) -> Iterator[_Line]:
    name = _text(metric.get("name") or '""')
    found = next((kind for kind in _KINDS if kind in metric), "")
    inner = _inner(metric, found)
    temporality = inner.get("aggregation_temporality")
    words = [TEMPORALITY.get(temporality, "") if isinstance(temporality, int) else "", _KINDS.get(found, "")]
    words.append(_text(metric.get("unit") or ""))
    for point in [*_each(inner, "data_points")] or [{}]:
        yield _Line(
            _value(point), name, " ".join(filter(None, [_attributes(point), about])), " ".join(filter(None, words))
        )


def _value(point: Json) -> str:
    """`12`, `0.5`, `NaN`; of a distribution its count, its sum, and its ends or quantiles."""
    for name in ("as_int", "as_double"):
        if name in point:
            return _number(point[name])
    if "count" not in point:
        return _NO_VALUE
    words = [f"n={_number(point['count'])}"]
    words += [f"{name}={_number(point[name])}" for name in ("sum", "min", "max") if name in point]
    words += [
        f"q{_number(each.get('quantile', 0.0))}={_number(each.get('value', 0.0))}"
        for each in _each(point, "quantile_values")
    ]
    return " ".join(words)


def _number(value: object) -> str:
    """A number in six digits; of a large one all digits before the point."""
    if not isinstance(value, int | float):  # NaN, Infinity
        return _text(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.0f}" if 1e6 <= abs(value) < 1e15 else f"{value:,.6g}"


def _attributes(holder: Json, name: str = "attributes", depth: int = 0) -> str:
    """Attributes as `group_id=billing node_id=node-1`."""
    pairs = ((each.get("key", ""), _inner(each, "value")) for each in _each(holder, name))
    return " ".join(f"{_text(key)}={_any(value, depth)}" for key, value in pairs)


def _any(value: Json, depth: int) -> str:
    """The value of an attribute: `billing`, `[1,2]`, `{a=1}`."""
    if depth > _DEPTH_MAX:
        return "…"
    if "array_value" in value:
        found = _each(_inner(value, "array_value"), "values")
        return f"[{','.join(_any(each, depth + 1) for each in found)}]"
    if "kvlist_value" in value:
        return f"{{{_attributes(_inner(value, 'kvlist_value'), 'values', depth + 1)}}}"
    inner = next(iter(value.values()), '""')
    return str(inner).lower() if isinstance(inner, bool) else _text(inner)
