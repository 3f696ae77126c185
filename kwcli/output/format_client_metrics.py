"""Metrics that a client pushed, in JSON form, in; a line for each out: its value, its name, its attributes.

Records that were read may hold anything in the place of metrics: any other shape is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from decoders.embedded.otlp_metrics import CODEC, TEMPORALITY
from decoders.named_tuple import NamedTuple
from decoders.wire.format_and_escape_text import escape_text
from kwcli.output.short_texts import Palette, cell_width, count_of, cut

__all__ = ["client_metric_lines", "format_client_metrics_heading"]

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


class _DataPoint(NamedTuple):
    """One data point: most metrics of Kafka's clients have one."""

    value: str
    name: str
    about: str
    kind: str


def format_client_metrics_heading(metrics: Json) -> str:
    """`MetricsData zstd · 126 metrics · group_id=billing`: what holds for all of the metrics."""
    codec = metrics.get(CODEC)
    parts = [f"MetricsData {_format_clean_text(codec)}" if codec else "MetricsData"]
    parts.append(count_of(sum(1 for _ in _walk_metrics(metrics)), "metric"))
    return " · ".join(filter(None, [*parts, _find_common_attributes(metrics)]))


def client_metric_lines(metrics: Json, width: int | None, palette: Palette) -> Iterator[str]:
    """A line for each metric's data point, each cut to the width."""
    common = _find_common_attributes(metrics)
    lines = [
        line
        for about, metric in _walk_metrics(metrics)
        for line in _make_data_points(metric, "" if about == common else about)
    ]
    room = min(max((cell_width(line.value) for line in lines), default=0), _VALUE_MAX)
    for line in lines:
        lead, name = " " * (room - cell_width(line.value)) + line.value + "  ", line.name
        behind = "".join(f"  {text}" for text in (line.about, line.kind) if text)
        if width is not None:
            lead = cut(lead, width)
            name = cut(name, width - cell_width(lead))
            behind = cut(behind, width - cell_width(lead) - cell_width(name))
        yield f"{lead}{palette.name}{name}{palette.off}{behind}"


def _get_objects_in_list(holder: Json, name: str) -> Iterator[Json]:
    """The objects in the list of this name."""
    found = holder.get(name)
    return (each for each in found if isinstance(each, dict)) if isinstance(found, list) else iter(())


def _get_object(holder: Json, name: str) -> Json:
    found = holder.get(name)
    return found if isinstance(found, dict) else {}


def _format_clean_text(value: object) -> str:
    return escape_text(value if isinstance(value, str) else str(value))


def _walk_metrics(metrics: Json) -> Iterator[tuple[str, Json]]:
    """Each metric with the attributes of its resource and the name of its scope."""
    for resource in _get_objects_in_list(metrics, "resource_metrics"):
        above = _format_attributes(_get_object(resource, "resource"))
        for scope in _get_objects_in_list(resource, "scope_metrics"):
            named = _get_object(scope, "scope")
            words = [above, *(_format_clean_text(named[name]) for name in ("name", "version") if named.get(name))]
            for metric in _get_objects_in_list(scope, "metrics"):
                yield " ".join(filter(None, words)), metric


def _find_common_attributes(metrics: Json) -> str:
    """The resource and scope that all metrics have in common; empty where they differ."""
    said = {about for about, _ in _walk_metrics(metrics)}
    return said.pop() if len(said) == 1 else ""


def _make_data_points(metric: Json, about: str) -> Iterator[_DataPoint]:
    name = _format_clean_text(metric.get("name") or '""')
    found = next((kind for kind in _KINDS if kind in metric), "")
    inner = _get_object(metric, found)
    temporality = inner.get("aggregation_temporality")
    words = [TEMPORALITY.get(temporality, "") if isinstance(temporality, int) else "", _KINDS.get(found, "")]
    words.append(_format_clean_text(metric.get("unit") or ""))
    for point in [*_get_objects_in_list(inner, "data_points")] or [{}]:
        yield _DataPoint(
            _format_point_value(point),
            name,
            " ".join(filter(None, [_format_attributes(point), about])),
            " ".join(filter(None, words)),
        )


def _format_point_value(point: Json) -> str:
    """`12`, `0.5`, `NaN`; of a distribution its count, its sum, and its ends or quantiles."""
    for name in ("as_int", "as_double"):
        if name in point:
            return _format_number(point[name])
    if "count" not in point:
        return _NO_VALUE
    words = [f"n={_format_number(point['count'])}"]
    words += [f"{name}={_format_number(point[name])}" for name in ("sum", "min", "max") if name in point]
    words += [
        f"q{_format_number(each.get('quantile', 0.0))}={_format_number(each.get('value', 0.0))}"
        for each in _get_objects_in_list(point, "quantile_values")
    ]
    return " ".join(words)


def _format_number(value: object) -> str:
    """A number in six digits; of a large one all digits before the point."""
    if not isinstance(value, int | float):  # NaN, Infinity
        return _format_clean_text(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.0f}" if 1e6 <= abs(value) < 1e15 else f"{value:,.6g}"


def _format_attributes(holder: Json, name: str = "attributes", depth: int = 0) -> str:
    """Attributes as `group_id=billing node_id=node-1`."""
    pairs = ((each.get("key", ""), _get_object(each, "value")) for each in _get_objects_in_list(holder, name))
    return " ".join(f"{_format_clean_text(key)}={_format_attribute_value(value, depth)}" for key, value in pairs)


def _format_attribute_value(value: Json, depth: int) -> str:
    """The value of an attribute: `billing`, `[1,2]`, `{a=1}`."""
    if depth > _DEPTH_MAX:
        return "…"
    if "array_value" in value:
        found = _get_objects_in_list(_get_object(value, "array_value"), "values")
        return f"[{','.join(_format_attribute_value(each, depth + 1) for each in found)}]"
    if "kvlist_value" in value:
        return f"{{{_format_attributes(_get_object(value, 'kvlist_value'), 'values', depth + 1)}}}"
    inner = next(iter(value.values()), '""')
    return str(inner).lower() if isinstance(inner, bool) else _format_clean_text(inner)
