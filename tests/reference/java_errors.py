"""The jar of slf4j and client jars in, JSON of [[code, name, simple name of the exception], …] for each jar out."""

from __future__ import annotations

import json
import sys

import jpype  # type: ignore[import-untyped]  # it has no types


def main(logging: str, jars: list[str]) -> None:
    jpype.startJVM()
    url, loader = jpype.JClass("java.io.File"), jpype.JClass("java.net.URLClassLoader")
    found = []
    for jar in jars:
        own = loader([url(path).toURI().toURL() for path in (jar, logging)])
        errors = jpype.JClass("java.lang.Class").forName("org.apache.kafka.common.protocol.Errors", True, own)
        rows = []
        for one in errors.getEnumConstants():
            exception = one.exception()
            rows.append(
                [int(one.code()), str(one.name()), str(exception.getClass().getSimpleName()) if exception else "-"]
            )
        found.append(rows)
    print(json.dumps(found))  # noqa: T201  # what this program is for


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
