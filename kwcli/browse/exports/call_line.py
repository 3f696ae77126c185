"""An exchange in, the line of `kw call` that asks the same again out."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import orjson

from decoders.messages.build_body_json import Options
from decoders.messages.exchange_json import to_json_dict

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from kwcli.output.output_settings import Settings

__all__ = ["make_call_line"]

# The most characters of a line: shells and terminals take no more of a pasted one.
_LINE_MAX: Final = 60_000


def make_call_line(exchange: Exchange, settings: Settings) -> str:
    """The line; empty where there is no request that could be asked again.

    Secrets are hidden, unless they are to be revealed: `kw call` then says which value is missing.
    """
    if exchange.api is None or exchange.api_version is None:
        return ""
    body = to_json_dict(exchange, Options(True, settings.reveal_secrets))["request"]
    if not isinstance(body, dict):
        return ""
    words = ["kw", "call", exchange.api, "--api-version", str(exchange.api_version), *_make_body_words(body)]
    line = " ".join(map(shlex.quote, [*words, "-b", exchange.broker]))
    return line if len(line) <= _LINE_MAX else ""


def _make_body_words(body: dict[str, Any]) -> Iterator[str]:
    """`timeout_ms=500`, `topics:=[{"name":"a"}]`."""
    for name, value in body.items():
        if isinstance(value, bool):
            yield f"{name}={'true' if value else 'false'}"
        elif isinstance(value, int) or (isinstance(value, str) and value and value[0] != "@" and value.isprintable()):
            yield f"{name}={value}"
        else:
            yield f"{name}:={orjson.dumps(value).decode()}"
