"""Values in, YAML out: a document each, as `---` parts them; and exchange records written so.

Strings are quoted where YAML would read something else in them, so that what is read back is what JSON has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson
import yaml

from decoders.messages.bodies import Options
from decoders.messages.record import to_json_dict
from decoders.wire.deferred import json_pieces

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Settled
    from kwcli.env import Settings
    from kwcli.output import Write

_WIDTH: Final = 120
_DUMPER: Final = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def yaml_document(value: Any) -> bytes:
    """One document. Values that are read as they are written are read whole for it."""
    plain = orjson.loads(b"".join(json_pieces(value)))
    text: str = yaml.dump(plain, Dumper=_DUMPER, sort_keys=False, allow_unicode=True, width=_WIDTH)
    return f"---\n{text}".encode("utf-8", "backslashreplace")


class Yaml:
    """One document a row."""

    shows_skipped = True

    def __init__(self, settings: Settings, write: Write) -> None:
        self._write = write
        self._options = Options(settings.records, settings.reveal_secrets, deferred=True, names=settings.names)
        self.errors = self.expected = self.undecoded = 0

    def write(self, rows: list[Settled]) -> None:
        """Write the rows."""
        for row in rows:
            record = to_json_dict(row, self._options)
            errors = record.get("errors") or []
            failed = any("expected" not in error for error in errors)
            self.errors += failed
            self.expected += bool(errors) and not failed
            self.undecoded += record.get("status") == "undecoded"
            self._write(yaml_document(record))

    def notice(self, rows: list[Settled]) -> None:
        """Nothing is learnt."""

    def close(self) -> None:
        """Nothing is owed."""
