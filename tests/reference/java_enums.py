"""A client jar in, Kafka's own enums out: JSON of {class: {number: name}} for each `CLASS:METHOD` in the arguments."""

from __future__ import annotations

import json
import sys
from typing import Any

import jpype  # type: ignore[import-untyped]  # it has no types


def _value(one: Any, word: str) -> Any:
    """The value of a method, or of a field of the same name that hides it."""
    said = getattr(one, word)
    return said() if callable(said) else said


def main(jar: str, asked: list[str]) -> None:
    jpype.startJVM(classpath=[jar])
    found: dict[str, dict[int, str]] = {}
    for word in asked:
        name, _, method = word.partition(":")
        values = jpype.JClass("org.apache.kafka." + name).values()
        found[word] = {int(_value(one, method)): str(_value(one, "name")) for one in values}
    print(json.dumps(found))  # noqa: T201  # what this program is for


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
