"""Built-in values in, bytes out, and back: how a stage hands its state over (`export`, `resume`).

One tag byte a value, then fixed-size numbers and counted contents, all big-endian. Reading runs no code and makes no
object but None, bool, int, float, str, bytes, list, tuple, dict, set and frozenset; counts are checked against the
bytes left before anything is made, and any error is a `DecodeError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from struct import Struct
from types import UnionType
from typing import Any, Final

from decoders.errors import DecodeError, LimitExceeded, Malformed, Truncated
from decoders.wire.format_and_escape_text import format_bytes

__all__ = ["add_fields_to_older_state", "pack", "state_fields", "unpack"]

# Containers inside containers: states are a handful deep, and hashing a deep tuple would use up the C stack.
DEPTH_MAX: Final = 64

_SMALL: Final = Struct(">cq")
_FLOAT: Final = Struct(">cd")
_COUNT: Final = Struct(">cI")
_SMALL_MIN: Final = -(1 << 63)
_SMALL_MAX: Final = (1 << 63) - 1

_CONTAINERS: Final[dict[type, bytes]] = {list: b"l", tuple: b"t", set: b"e", frozenset: b"z"}


def pack(value: object) -> bytes:
    """The bytes of `value`, which is made of built-in values only; TypeError names a type that is not built in."""
    out: list[bytes] = []
    _pack_value(value, out, 0)
    return b"".join(out)


def _pack_value(value: object, out: list[bytes], depth: int) -> None:
    kind = type(value)
    if kind is int:
        assert isinstance(value, int)
        if _SMALL_MIN <= value <= _SMALL_MAX:
            out.append(_SMALL.pack(b"i", value))
        else:
            _pack_bytes(b"I", value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True), out)
    elif value is None:
        out.append(b"N")
    elif kind is bytes:
        _pack_bytes(b"b", value, out)  # type: ignore[arg-type]  # kind says bytes
    elif kind is str:
        _pack_bytes(b"s", value.encode("utf-8", "surrogatepass"), out)  # type: ignore[attr-defined]  # kind says str
    elif kind is bool:
        out.append(b"T" if value else b"F")
    elif kind is float:
        out.append(_FLOAT.pack(b"f", value))
    elif depth >= DEPTH_MAX:
        raise TypeError(f"more than {DEPTH_MAX} containers inside one another")
    elif isinstance(value, dict):
        out.append(_COUNT.pack(b"d", len(value)))
        for name, item in value.items():
            _pack_value(name, out, depth + 1)
            _pack_value(item, out, depth + 1)
    elif kind in _CONTAINERS:
        assert isinstance(value, list | tuple | set | frozenset)
        out.append(_COUNT.pack(_CONTAINERS[kind], len(value)))
        for item in value:
            _pack_value(item, out, depth + 1)
    else:
        raise TypeError(f"a state holds no {kind.__name__}")


def _pack_bytes(tag: bytes, data: bytes, out: list[bytes]) -> None:
    out.append(_COUNT.pack(tag, len(data)))
    out.append(data)


def _make_dict_of_pairs(items: list[object]) -> dict[object, object]:
    return dict(zip(items[::2], items[1::2], strict=True))


_MAKE: Final[dict[bytes, Callable[[list[object]], object]]] = {
    b"l": list,
    b"t": tuple,
    b"e": set,
    b"z": frozenset,
    b"d": _make_dict_of_pairs,
}
_CONSTANTS: Final[dict[bytes, object]] = {b"N": None, b"T": True, b"F": False}


def _decode_text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _decode_long_integer(data: bytes) -> int:
    return int.from_bytes(data, "big", signed=True)


_READ: Final[dict[bytes, Callable[[bytes], object]]] = {b"b": bytes, b"s": _decode_text, b"I": _decode_long_integer}


def unpack(data: bytes) -> object:
    """The value of which `pack` made these bytes. Raises DecodeError for anything else."""
    try:
        return _unpack_value(data)
    except DecodeError:
        raise
    except (TypeError, ValueError) as problem:
        raise Malformed(f"no saved state: {problem}") from None


def _unpack_value(data: bytes) -> object:
    end = len(data)
    at = 0
    open_: list[tuple[bytes, int, list[object]]] = []  # containers begun: tag, items wanted, items had
    while True:
        tag = data[at : at + 1]
        value: object
        if tag == b"i":
            _check_left(at, 9, end)
            value = _SMALL.unpack_from(data, at)[1]
            at += 9
        elif tag == b"f":
            _check_left(at, 9, end)
            value = _FLOAT.unpack_from(data, at)[1]
            at += 9
        elif tag in _CONSTANTS:
            value = _CONSTANTS[tag]
            at += 1
        elif tag in _READ:
            _check_left(at, 5, end)
            size = _COUNT.unpack_from(data, at)[1]
            _check_left(at, 5 + size, end)
            value = _READ[tag](data[at + 5 : at + 5 + size])
            at += 5 + size
        elif tag in _MAKE:
            _check_left(at, 5, end)
            wanted = _COUNT.unpack_from(data, at)[1] * (2 if tag == b"d" else 1)
            at += 5
            _check_left(at, wanted, end)
            if len(open_) >= DEPTH_MAX:
                raise LimitExceeded(f"more than {DEPTH_MAX} containers inside one another", offset=at)
            open_.append((tag, wanted, []))
            value = _close_full_container(open_)
            if value is open_:
                continue
        else:
            raise (Malformed(f"unknown tag {tag!r}", offset=at) if tag else Truncated("state cut off", offset=at))
        while open_:
            open_[-1][2].append(value)
            value = _close_full_container(open_)
            if value is open_:
                break
        else:
            if at != end:
                raise Malformed(f"{format_bytes(end - at)} too many", offset=at)
            return value


def _close_full_container(open_: list[tuple[bytes, int, list[object]]]) -> object:
    """Close and give the innermost container if it is full, else give `open_` itself."""
    tag, wanted, items = open_[-1]
    if len(items) < wanted:
        return open_
    open_.pop()
    return _MAKE[tag](items)


def _check_left(at: int, size: int, end: int) -> None:
    if at + size > end:
        raise Truncated(f"need {format_bytes(size)}, have {end - at}", offset=at)


def add_fields_to_older_state(state: object, size: int, at: int, *added: object) -> object:
    """A state of `size` fields, as an older version of kw saved it, with `added` before field `at`; others as they are.

    What `export` gives is read by newer versions too (`kw pipeline watch` keeps it): so who adds fields calls this.
    """
    if not isinstance(state, list | tuple) or len(state) != size:
        return state
    return [*state[:at], *added, *state[at:]]


def state_fields(value: object, *kinds: type | UnionType) -> Iterable[Any]:
    """The items of a list or tuple read back, after a check of their number and types; DecodeError if they differ."""
    if not isinstance(value, list | tuple) or len(value) != len(kinds):
        raise Malformed(f"a saved state of {len(kinds)} parts is wanted")
    for item, kind in zip(value, kinds, strict=True):
        if not isinstance(item, kind):
            raise Malformed(f"a saved state holds {type(item).__name__} in a wrong place")
    return value
