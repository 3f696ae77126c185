"""Exchanges in, the bytes of their frames out, each with its size field, as `kw decode` reads them.

Secrets are overwritten with `*`, so that frames keep their sizes and still decode. Incomplete frames are left out,
because the bytes after them would be taken for theirs. So are the tokens of a SASL login, which are no messages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from decoders.exchanges.body_reader import SIDES
from decoders.messages.build_body_json import conceal_echoes_in_parts, make_concealer_of_exchange
from decoders.messages.split_frame_into_parts import split_frame
from kwcli.output.renderers import CountingRenderer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from decoders.exchanges.exchange import Exchange, Settled
    from decoders.schema.api_declaration import Side
    from kwcli.output.output_settings import Settings
    from kwcli.output.renderers import Write

__all__ = ["Raw"]

_SIZE: Final = 4
_HIDDEN: Final = b"*"


class Raw(CountingRenderer):
    """Writes frames in the order of their rows: a request, then its response."""

    shows_skipped = False

    def __init__(self, settings: Settings, write: Write) -> None:
        super().__init__(write)
        self._reveal = settings.reveal_secrets

    def write(self, rows: list[Settled]) -> None:
        """Write the frames of exchanges."""
        self.count_exchanges(rows)
        for row in rows:
            # An exchange inside an Envelope is in the frame of that one.
            if row.kind == "exchange" and not row.envelope and not row.is_sasl_token:
                self._write(b"".join(self._read_frames(row)))

    def _read_frames(self, row: Exchange) -> Iterator[bytes]:
        for side in SIDES:
            frame = row.raw(side)
            if frame is not None and len(frame) == _SIZE + int.from_bytes(frame[:_SIZE], "big"):
                yield frame if self._reveal else self._hide_secrets_in_frame(row, side, frame)

    def _hide_secrets_in_frame(self, row: Exchange, side: Side, frame: bytes) -> bytes:
        """The frame with its secrets overwritten."""
        found = split_frame(frame, side, row.api_key, row.api_version)
        conceal = make_concealer_of_exchange(row) if side == "response" else None
        if conceal is not None:
            found.parts = conceal_echoes_in_parts(found.parts, conceal)
        spans = [(part.at, part.end) for part in (*found.header, *found.body) if part.secret]
        if found.rest_secret:
            spans.append((found.rest_at, len(frame)))
        if not spans:
            return frame
        data = bytearray(frame)
        for at, end in spans:
            data[at:end] = _HIDDEN * (end - at)
        return bytes(data)
