"""The jar of slf4j and client jars in, the schemas in their classes out: for releases without definitions.

Prints JSON {jar: {API key: {version: [shape of the request, of the response]}}}. A shape lists the primitives on the
wire, one word each, with `[ … ]` around the elements of an array: names and the grouping of fields do not count. Each
jar has its own class loader, so that one JVM serves all jars.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import jpype  # type: ignore[import-untyped]  # it has no types

_PROTOCOL = "org.apache.kafka.common.protocol."


def schemas(jar: str) -> dict[int, dict[int, list[str]]]:
    """The schemas of every API that has some, by key and version."""
    url = jpype.JClass("java.io.File")(jar).toURI().toURL()
    loader = jpype.JClass("java.net.URLClassLoader")(jpype.JArray(jpype.JClass("java.net.URL"))([url]))
    keys = loader.loadClass(_PROTOCOL + "ApiKeys")
    tables = _tables(loader)
    found: dict[int, dict[int, list[str]]] = {}
    for constant in keys.getEnumConstants():
        key = int(keys.getField("id").get(constant))
        if tables is None:
            rows = [keys.getField(name).get(constant) for name in ("requestSchemas", "responseSchemas")]
        else:
            rows = [table[key] for table in tables]
        for version, (request, response) in enumerate(zip(*rows, strict=False)):
            if request is not None:
                found.setdefault(key, {})[version] = [" ".join(_shape(side)) for side in (request, response)]
    return found


def _tables(loader: Any) -> Any:
    """The two tables of all schemas by key, which releases up to 0.11 have; None for later ones."""
    protocol = loader.loadClass(_PROTOCOL + "Protocol")
    names = [str(field.getName()) for field in protocol.getFields()]
    if "REQUESTS" not in names:
        return None
    return [protocol.getField(name).get(None) for name in ("REQUESTS", "RESPONSES")]


def _shape(kind: Any) -> list[str]:
    name = str(kind.getClass().getSimpleName())
    if name == "Schema":
        return [word for field in kind.fields() for word in _shape(_type(field))]
    if name == "ArrayOf":
        return ["[", *_shape(kind.type()), "]"]
    return [str(kind.toString())]


def _type(field: Any) -> Any:
    """The type of a field; later releases have the field inside a bound one."""
    field = getattr(field, "def_", field)
    kind = field.type
    return kind() if callable(kind) else kind


def main(jars: list[str]) -> None:
    jpype.startJVM(classpath=jars[:1])
    print(json.dumps({jar: schemas(jar) for jar in jars[1:]}))  # noqa: T201  # what this program is for


if __name__ == "__main__":
    main(sys.argv[1:])
