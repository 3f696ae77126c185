"""A capture file in, the records that `kw sniff -o ndjson` prints out, each checked against its JSON Schema."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any, Final

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import orjson

__all__ = ["sniff"]

_ROOT: Final = Path(__file__).resolve().parents[2]
_SCHEMA: Final = _ROOT / "decoders" / "messages" / "record.schema.json"


@cache
def _validator() -> Any:
    return jsonschema.Draft202012Validator(orjson.loads(_SCHEMA.read_bytes()))


def sniff(capture: Path, *options: str) -> list[dict[str, Any]]:
    """All lines that the program prints for a capture, secrets revealed and every record shown."""
    command = [sys.executable, "-m", "kwcli.main", "sniff", str(capture), "-q", "-o", "ndjson"]
    command += ["--records", "--reveal-secrets", *options]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, check=True)
    found = [orjson.loads(line) for line in done.stdout.splitlines()]
    for record in found:
        # Bodies have no schema inside, and are most of the work.
        hollow: dict[str, Any] = {name: {} for name in ("request", "response") if isinstance(record.get(name), dict)}
        _validator().validate({**record, **hollow})
    return found
