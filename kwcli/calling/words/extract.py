"""A path as people write it (`topics[].partitions[0].leader_id`) and a body in, the values there out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from decoders.apis.names import find_field
from decoders.apis.paths import PathStep, parse_path, values_at
from decoders.schema.model import Api, Field, Side, Versions
from kwcli.env import Exit, Failure
from kwcli.spelling import did_you_mean

# Kinds of fields whose inside a declaration does not tell.
_OPAQUE: Final = ("bytes", "records")


class Path:
    """Names with indices; `[]`, or no index at an array, means every element."""

    def __init__(self, text: str, steps: Sequence[PathStep], versions: Versions) -> None:
        self.text = text
        self.versions = versions  # that have it
        self._steps = tuple(steps)

    @classmethod
    def parse(cls, text: str, api: Api, side: Side) -> Path:
        """A path that some version of this side has. Raises Failure (usage)."""
        steps: list[PathStep] = []
        message = api.message(side)
        fields: tuple[Field, ...] | None = message.fields
        versions = message.versions
        try:
            written = parse_path(text)
        except ValueError as problem:
            raise Failure(
                f"--select {text!r}: {problem.args[0]!r} is no field (write topics[].name)", Exit.USAGE
            ) from None
        for name, indices in written:
            if fields is not None:
                field = find_field(fields, name)
                if field is None:
                    hint = did_you_mean(name, [each.name for each in fields])
                    raise Failure(f"--select: the {side} of {api.name} has no field {name!r}{hint}", Exit.USAGE)
                name = field.name
                versions &= field.versions
                fields = None if field.kind in _OPAQUE else field.fields
            steps.append(PathStep(name, indices))
        return cls(text, steps, versions)

    def values(self, body: Any) -> Iterator[Any]:
        """What is there; nothing where the way ends before."""
        yield from values_at(body, self._steps)
