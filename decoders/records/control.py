"""Control records: key and value of a record of a control batch in, what they mean out (KIP-98, 595, 630, 853).

The key is an int16 version and an int16 type; the type says which structure the value is.
"""

from __future__ import annotations

from struct import Struct
from typing import Any, Final

from decoders.embedded import decode_embedded, embedded_json
from decoders.errors import DecodeError
from decoders.limits import EMBEDDED_MAX
from decoders.wire.text import json_bytes

# Number of the type: its name, and the structure of the value.
TYPES: Final[dict[int, tuple[str, str]]] = {
    0: ("ABORT", "EndTxnMarker"),
    1: ("COMMIT", "EndTxnMarker"),
    2: ("LEADER_CHANGE", "LeaderChangeMessage"),
    3: ("SNAPSHOT_HEADER", "SnapshotHeaderRecord"),
    4: ("SNAPSHOT_FOOTER", "SnapshotFooterRecord"),
    5: ("KRAFT_VERSION", "KRaftVersionRecord"),
    6: ("KRAFT_VOTERS", "VotersRecord"),
}
_KEY: Final = Struct(">hh")


def control_record(key: bytes | None, value: bytes | None) -> dict[str, Any]:
    """{"type": name, "version": of the key, "value"}; name and version None where the key is too short for them.

    The value is the structure's dict, or the bytes as they are where they hold none.
    """
    name, version, structure = _kind(key)
    found: Any = value
    if structure and value is not None and len(value) <= EMBEDDED_MAX:
        try:
            found = decode_embedded(structure, value)
        except DecodeError:
            found = value
    return {"type": name, "version": version, "value": found}


def control_json(key: bytes | None, value: bytes | None) -> dict[str, Any]:
    """The same in JSON form."""
    name, version, structure = _kind(key)
    found: Any = embedded_json(structure, value) if structure else None
    if found is None and value is not None:
        found = json_bytes(value)
    return {"type": name, "version": version, "value": found}


def _kind(key: bytes | None) -> tuple[str | None, int | None, str]:
    """Name of the type, version of the key, and the value's structure (empty: not known)."""
    if key is None or len(key) < _KEY.size:
        return None, None, ""
    version, number = _KEY.unpack_from(key)
    name, structure = TYPES.get(number, (f"UNKNOWN({number})", ""))
    return name, version, structure
