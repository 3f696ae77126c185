"""One line of the tree of a message; and the JSON form of a side in, its lines out, where it has no bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from decoders.wire.format_and_escape_text import escape_text
from kwcli.output.short_texts import count_of

if TYPE_CHECKING:
    from decoders.schema.api_declaration import Side

__all__ = ["NOT_SHOWN", "TreeField", "walk_json"]

# Fields of one message that are listed from its record, where it has no bytes.
_FIELDS_MAX: Final = 50_000
# The name of a line that says how many others are left out.
NOT_SHOWN: Final = "! not shown"


class TreeField:
    """One line of the tree. `fold`: the path whose other fields it hides when it is folded; empty for none.

    `is_record`: it stands for a record, whose fields it hides until somebody unfolds it.
    """

    __slots__ = ("fold", "is_record", "name", "paint", "path", "runs", "side", "text")

    def __init__(
        self, side: Side, path: str, name: str, text: str, paint: str, runs: list[tuple[int, int, bool]] | None = None
    ) -> None:
        self.side = side
        self.path = path
        self.name = name
        self.text = text
        self.paint = paint
        self.runs = runs or []
        self.fold = ""
        self.is_record = False

    @property
    def is_heading(self) -> bool:
        """Whether the line begins a side."""
        return not self.path and self.fold == self.side

    @property
    def is_error_code(self) -> bool:
        """Whether the field is an error code, 0 for none; a remark on one is not."""
        return self.path.endswith("error_code") and not self.name.startswith("!")


def walk_json(side: Side, path: str, name: str, value: Any, depth: int) -> Iterator[TreeField]:
    """A line for each leaf and each list, depth first, without recursion; the last one says how many are left out."""
    from kwcli.output.body_printer import format_scalar

    stack: list[tuple[str, str, Any, int]] = [(path, name, value, depth)]
    count = 0
    while stack and count < _FIELDS_MAX:
        path, name, value, depth = stack.pop()
        count += 1
        indent = "  " * max(depth - 1, 0)
        if _has_fields(value):
            if name:
                yield TreeField(side, path, f"{indent}{name}", "", "")
            stack += [
                (f"{path}.{key}" if path else str(key), escape_text(str(key)), inner, depth + 1)
                for key, inner in reversed(value.items())
            ]
        elif hasattr(value, "__iter__") and not isinstance(value, str | bytes | dict):
            items = list(value)
            yield TreeField(side, path, f"{indent}{name}", f"{len(items):,} element{'s' * (len(items) != 1)}", "")
            stack += [(f"{path}[{at}]", f"[{at}]", inner, depth + 1) for at, inner in reversed(list(enumerate(items)))]
        else:
            yield TreeField(
                side, path, f"{indent}{name}", format_scalar(value), "dim" if value in (None, "", 0) else ""
            )
    if stack:
        yield TreeField(
            side, stack[-1][0], NOT_SHOWN, count_of(_count_values(each[2] for each in stack), "more line"), "dim"
        )


def _has_fields(value: Any) -> bool:
    return isinstance(value, dict) and set(value) not in ({"redacted"}, {"base64"})


def _count_values(values: Iterable[Any]) -> int:
    """How many values these are, with all that are in them."""
    stack, count = [*values], 0
    while stack:
        value = stack.pop()
        count += 1
        if _has_fields(value):
            stack += value.values()
        elif hasattr(value, "__iter__") and not isinstance(value, str | bytes | dict):
            stack += value
    return count
