"""Secrets inside records: the value of a record of `__cluster_metadata` in, whether it must not be shown out.

A KRaft record is framed by three unsigned varints: frame version, type, version of the type. SCRAM credentials and the
values of configs that are not known to be public are secret; so is what cannot be read.
"""

from __future__ import annotations

from typing import Final

from decoders.apis.public_configs import is_public
from decoders.errors import DecodeError
from decoders.wire.varints import read_uvarint

_CONFIG: Final = 4
_SCRAM: Final = 11
_LAST_TYPE: Final = 29


def holds_secret(value: bytes) -> bool:
    """Whether the value of a metadata record holds a secret: the `hide` of `records_json` for that topic."""
    end = len(value)
    try:
        _, at = read_uvarint(value, 0, end)
        kind, at = read_uvarint(value, at, end)
        _, at = read_uvarint(value, at, end)
        if kind != _CONFIG:
            return kind == _SCRAM or kind > _LAST_TYPE
        # int8 resource type, then the resource's name and the config's as compact strings.
        size, at = read_uvarint(value, at + 1, end)
        size, at = read_uvarint(value, at + max(size - 1, 0), end)
    except DecodeError:
        return True
    name = value[at : at + max(size - 1, 0)]
    return not is_public(name.decode("utf-8", "replace"))
