"""An exchange in, its lines for people out: a line for each side, with the body below it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from decoders.apis.keys import CREATE_TOPICS, PRODUCE
from decoders.messages.bodies import Options, conceal_of
from decoders.messages.record import to_json_dict
from decoders.wire.units import format_latency
from kwcli.output.body import BodyPrinter, plan_of, scalar, undecoded
from kwcli.output.units import count_of, cut, palette
from kwcli.terminal import clean

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.model import Side
    from kwcli.env import Settings
    from kwcli.output.units import Palette


# A request with more leaves than this is shown as a tree.
PATHS_MAX: Final = 24
# DescribeConfigs' number for a config at its default, which nobody has set.
_DEFAULT_CONFIG: Final = 5
UNANSWERED: Final = {
    "no_response_expected": "no answer is sent to this (acks=0)",
    "unanswered": "no answer",
}


def exchange_lines(
    exchange: Exchange, record: dict[str, Any], way: str, settings: Settings, only: Side | None, explained: set[int]
) -> Iterator[str]:
    """All lines of one exchange, or of one side of it. Without -v the request, which the user just typed, is one line.

    The meaning of an error code in `explained` is not printed again.
    """
    colors = palette(settings.color)
    body = BodyPrinter(settings.width, colors, record.get("topic_names"))
    asked = settings.verbose > 0 or (settings.records and exchange.api_key == PRODUCE)
    request_body = asked or only == "request" or _unsent(record)
    if only != "response":
        yield _head(exchange, record, way, settings, colors)
        if settings.verbose:
            yield from _header(exchange, record, settings, colors)
        if settings.format == "hex":
            yield from hex_of(exchange, "request", settings, colors)
        elif request_body:
            yield from _request(exchange, record, body)
        yield from (f"  {line}" for line in undecoded(record, "request", colors))
    if only != "request" and not _unsent(record):
        yield _answer(exchange, record, colors)
        if settings.format == "hex":
            yield from hex_of(exchange, "response", settings, colors)
        elif isinstance(record["response"], dict):
            answer, folded = _folded(exchange, record["response"], settings)
            yield from body.lines(answer, plan_of(exchange, "response"))
            if folded:
                yield f"  {colors.dim}{count_of(folded, 'config')} at the default: -v lists them{colors.off}"
        elif record["response"] is not None:
            yield f"  {scalar(record['response'])}"
        yield from (f"  {line}" for line in undecoded(record, "response", colors))
    yield from body.meanings(explained)


def _folded(exchange: Exchange, response: dict[str, Any], settings: Settings) -> tuple[dict[str, Any], int]:
    """A CreateTopics response without the configs at their default, and how many those are; all of it with -v."""
    topics = response.get("topics")
    if exchange.api_key != CREATE_TOPICS or settings.verbose or not isinstance(topics, list):
        return response, 0
    count = 0
    shown = []
    for topic in topics:
        configs = topic.get("configs")
        if isinstance(configs, list):
            told = [each for each in configs if each.get("config_source") != _DEFAULT_CONFIG]
            count += len(configs) - len(told)
            topic = {**topic, "configs": told}
            if configs and not told:
                del topic["configs"]
        shown.append(topic)
    return {**response, "topics": shown}, count


def _head(exchange: Exchange, record: dict[str, Any], way: str, settings: Settings, colors: Palette) -> str:
    version = "" if exchange.api_version is None else f" {exchange.api_version}"
    parts = [f"{exchange.request_size:,} B" if exchange.request_size is not None else "", way]
    rest = clean(" · ".join(part for part in parts if part))
    name = f"{record['api']}{version}"
    if settings.width is not None:
        rest = cut(rest, max(settings.width - len(name) - 5, 1))
    return f"{colors.api}→ {clean(name)}{colors.off} · {rest}"


def _header(exchange: Exchange, record: dict[str, Any], settings: Settings, colors: Palette) -> Iterator[str]:
    """The header's fields, and both addresses of the connection."""
    parts = [f"correlation_id {scalar(exchange.correlation_id)}", f"client_id {scalar(exchange.client_id)}"]
    if record["client"] is not None:
        parts.append(f"{record['client']} → {record['broker']}")
    text = " · ".join(parts)
    yield f"  {colors.dim}{text if settings.width is None else cut(text, settings.width - 2)}{colors.off}"


def _request(exchange: Exchange, record: dict[str, Any], body: BodyPrinter) -> Iterator[str]:
    value = record["request"]
    if not isinstance(value, dict):
        return
    plan = plan_of(exchange, "request")
    paths = [] if exchange.api_key == PRODUCE else list(body.paths(value, plan, most=PATHS_MAX + 1))
    yield from paths if 0 < len(paths) <= PATHS_MAX else body.lines(value, plan)


def hex_of(exchange: Exchange, side: Side, settings: Settings, colors: Palette) -> Iterator[str]:
    """A hex dump of one side, with names and values beside the bytes."""
    from kwcli.output.hex import HexStyle, hex_lines

    frame = exchange.raw(side)
    if frame is not None:
        style = HexStyle(settings.width, colors, settings.reveal_secrets, conceal=conceal_of(exchange))
        yield from hex_lines(frame, side, exchange.api_key, exchange.api_version, style)


def _answer(exchange: Exchange, record: dict[str, Any], colors: Palette) -> str:
    if exchange.response_size is None:
        text = UNANSWERED.get(record["status"], "no answer")
        bad = record["status"] != "no_response_expected"
        return f"{colors.bad if bad else colors.api}← {text}{colors.off}"
    return f"{colors.api}←{colors.off} {exchange.response_size:,} B · {format_latency(exchange.latency_ms)}"


def _unsent(record: dict[str, Any]) -> bool:
    return record["client"] is None


def lookup_lines(exchange: Exchange, node: str, settings: Settings) -> Iterator[str]:
    """A look-up in a line: `kw: asked node 1 kafka1:9092: FindCoordinator 6 · 0.8ms`; with -vv the exchange, too."""
    name = exchange.api or "SASL token"
    version = "" if exchange.api_version is None else f" {exchange.api_version}"
    errors = "".join(f" · {error.name}" for error in exchange.errors)
    yield f"kw: asked {node}: {name}{version} · {format_latency(exchange.latency_ms)}{errors}"
    if settings.verbose > 1:
        record = to_json_dict(exchange, Options(reveal_secrets=settings.reveal_secrets, deferred=True))
        plain = settings._replace(format="text", color=False)
        yield from (f"    {line}" for line in exchange_lines(exchange, record, node, plain, None, set()))
