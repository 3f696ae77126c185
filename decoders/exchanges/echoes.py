"""An exchange in, what its broker repeats of a secret hidden in its error messages out.

A broker says why it refuses a value, and says the value with it (`Invalid value … for configuration …`), also where the
value is redacted in the same exchange. So the secrets of both sides are read once more, in clear, where there is an
error message at all; and what is found of them in one becomes `{redacted N}`.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from decoders.exchanges.bodies import Options, body_json
from decoders.exchanges.exchange import Exchange
from decoders.exchanges.specs import SIDES
from decoders.schema.form import redacted
from decoders.schema.part import BytePart
from decoders.schema.unform import MESSAGE
from decoders.wire.hiding import Conceal, concealer, spellings

# The APIs with a secret in one of their sides and an error message in their answer.
ECHOING: Final = frozenset({19, 32, 33, 36, 44, 51, 88, 89})
REDACTED: Final = redacted(0).keys()
_SHOWN: Final = Options()
_CLEAR: Final = Options(reveal_secrets=True)


def conceal_of(exchange: Exchange) -> Conceal | None:
    """What takes the secrets of an exchange from a text; None where there is none, or nothing that could repeat it."""
    if exchange.spec.key not in ECHOING:
        return None
    return concealer(_told_of(exchange, {side: body_json(exchange, side, _SHOWN)[0] for side in SIDES}))


def _told_of(exchange: Exchange, shown: Mapping[str, Any]) -> set[str]:
    """The texts by which its secrets may be repeated; `shown` are its bodies by side, with secrets redacted."""
    found: list[str | bytes] = []
    for side in SIDES:
        if _is_redacted(shown[side]):
            found += _secrets(shown[side], body_json(exchange, side, _CLEAR)[0])
    return set(spellings(found))


def _is_redacted(body: Any) -> bool:
    return any(isinstance(each, dict) and each.keys() == REDACTED for each in _values(body))


def hide_echoes(exchange: Exchange, request: Any, response: Any) -> None:
    """Take the secrets of an exchange from the error messages of its answer; bodies as JSON with secrets redacted."""
    said = [each for each in _values(response) if isinstance(each, dict) and each.get(MESSAGE)]
    told = _told_of(exchange, {"request": request, "response": response}) if said else None
    if not told:
        return
    # Most messages repeat nothing, and to search for that costs less than to compile a pattern.
    said = [each for each in said if not isinstance(each[MESSAGE], str) or any(map(each[MESSAGE].__contains__, told))]
    conceal = concealer(told) if said else None
    if conceal is not None:
        for struct in said:
            struct[MESSAGE] = _hidden(struct[MESSAGE], conceal)


def echoes(parts: Iterable[BytePart], conceal: Conceal) -> Iterator[BytePart]:
    """The parts of an answer; error messages that repeat a secret are secret."""
    for part in parts:
        told = part.path.rpartition(".")[2] == MESSAGE and isinstance(part.value, str)
        yield part._replace(secret=True) if told and conceal(str(part.value)) != part.value else part


def _hidden(message: Any, conceal: Callable[[str], str]) -> Any:
    if isinstance(message, str):
        return conceal(message)
    try:
        data = b64decode(message["base64"], validate=True)
    except (KeyError, TypeError, NotBase64):
        return message
    text = data.decode("utf-8", "surrogateescape")
    return redacted(len(data)) if conceal(text) != text else message


def _values(body: Any) -> Iterator[Any]:
    """The body and all that is nested in it."""
    waiting = [body]
    while waiting:
        each = waiting.pop()
        yield each
        if isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each


def _secrets(shown: Any, clear: Any) -> Iterator[str | bytes]:
    """What is redacted in the first form and stands in the second."""
    waiting = [(shown, clear)]
    while waiting:
        one, other = waiting.pop()
        if isinstance(one, dict) and one.keys() == REDACTED:
            if isinstance(other, str):
                yield other
            elif isinstance(other, Mapping) and "base64" in other:
                yield b64decode(other["base64"])
        elif isinstance(one, dict) and isinstance(other, dict):
            waiting += [(item, other.get(name)) for name, item in one.items()]
        elif isinstance(one, list) and isinstance(other, list):
            waiting += zip(one, other, strict=False)
