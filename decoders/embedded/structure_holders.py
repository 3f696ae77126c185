"""The fields of messages that may hold a structure, and the hooks that make the JSON value of their bytes.

Bytes are shown as a structure only if encoding that structure gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from decoders.schema.api_declaration import Side
from decoders.schema.body_json_form import json_bytes

_SUBSCRIPTION: Final = "ConsumerProtocolSubscription"
_ASSIGNMENT: Final = "ConsumerProtocolAssignment"
# OTLP metrics are no structure of Kafka; they are compressed as the sibling field `compression_type` says.
_METRICS: Final = "MetricsData(compression_type)"

# (API key, side) → {path without indices: the name of the structure, which is also the name of the hook}.
HOLDERS: Final[dict[tuple[int, Side], dict[str, str]]] = {
    (11, "request"): {"protocols[].metadata": _SUBSCRIPTION},
    (11, "response"): {"members[].metadata": _SUBSCRIPTION},
    (14, "request"): {"assignments[].assignment": _ASSIGNMENT},
    (14, "response"): {"assignment": _ASSIGNMENT},
    (15, "response"): {
        "groups[].members[].member_metadata": _SUBSCRIPTION,
        "groups[].members[].member_assignment": _ASSIGNMENT,
    },
    (58, "request"): {"request_principal": "DefaultPrincipalData"},
    (72, "request"): {"metrics": _METRICS},
}


def _make_structure_hook(structure_name: str) -> Callable[[bytes | None], Any]:
    def structure_to_json(data: bytes | None) -> Any:
        if data is None:
            return None
        from decoders.embedded import structure_or_stand_in_json  # loads the declarations

        value = structure_or_stand_in_json(structure_name, data)
        return json_bytes(data) if value is None else value

    return structure_to_json


def _metrics_json(data: bytes | None, codec: int | None) -> Any:
    from decoders.embedded.otlp_metrics import metrics_json  # loads codecs

    return metrics_json(data, codec)


HOOKS: Final[dict[str, Callable[..., Any]]] = {
    **{name: _make_structure_hook(name) for paths in HOLDERS.values() for name in paths.values()},
    _METRICS: _metrics_json,
}
