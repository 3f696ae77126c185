"""The bytes of one capture file (pcap or pcapng) in, cut anywhere; TCP segments out.

`feed` keeps only the bytes of the record that is not whole yet, and takes it up again when enough have come.
"""

from __future__ import annotations

from decoders.capture.network import Dissector
from decoders.capture.pcap import HEADER_SIZE, MAGICS, Pcap
from decoders.capture.pcapng import MAGIC, Pcapng
from decoders.errors import DecodeError, LimitExceeded, Malformed, Truncated
from decoders.streams.chunks import Segment
from decoders.wire.state import fields, pack, unpack

__all__ = ["CaptureReader"]

_MAGIC_SIZE = 4
_PROBLEMS = {kind.__name__: kind for kind in (Malformed, Truncated, LimitExceeded)}


class CaptureReader:
    """One capture, sans-IO: `feed` it bytes, then `finish`.

    `problem` is None, or says at which byte of the file reading ended and why; all segments before it were given, what
    is fed after it is ignored. `kind` is "pcap", "pcapng", or None where the bytes are (so far) no capture. The first
    packet gets the number `before` + 1.
    """

    dissector: type[Dissector] = Dissector
    formats: tuple[type[Pcap], type[Pcapng]] = (Pcap, Pcapng)

    def __init__(self, *, fused: bool = True, before: int = 0) -> None:
        self.problem: DecodeError | None = None
        self.kind: str | None = None
        self._fused = fused  # False: the plain way for every packet, the oracle in tests
        self._before = before
        self._dissector = self.dissector()
        self._header = b""
        self._file: Pcap | Pcapng | None = None
        self._parts: list[bytes] = []  # bytes from `_at` on that are not used yet
        self._held = 0
        self._at = 0
        self._needed = _MAGIC_SIZE
        self._segments = 0

    @property
    def counts(self) -> dict[str, int]:
        """`packets`, of these `tcp` (segments given) and the others by kind; `dropped` as the capture itself says.

        `fragmented` counts IP packets of which some fragment is missing.
        """
        packets = self._file.packets - self._before if self._file else 0
        dropped = self._file.dropped if isinstance(self._file, Pcapng) else 0
        return {
            "packets": packets,
            "tcp": self._segments,
            **self._dissector.counts,
            "fragmented": self._dissector.fragments.given_up,
            "dropped": dropped,
        }

    def feed(self, data: bytes, now_ns: int = 0) -> list[Segment]:  # noqa: ARG002 - one protocol for all stages
        """The segments of the packets that are whole with these bytes."""
        out: list[Segment] = []
        if self.problem is not None or not data:
            return out
        self._parts.append(bytes(data))
        self._held += len(data)
        if self._held < self._needed:
            return out
        buf = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        try:
            if self._file is None:
                buf = self._begin(buf)
            if self._file is not None:
                used, self._needed = self._file.read(buf, out)
                self._at += used
                buf = buf[used:]
        except DecodeError as problem:
            problem.offset += self._at
            self.problem = problem
            buf = b""
        self._parts = [buf]
        self._held = len(buf)
        self._segments += len(out)
        return out

    def _begin(self, buf: bytes) -> bytes:
        """Recognise the format; gives what is behind the file header, if that is whole."""
        magic = buf[:_MAGIC_SIZE]
        if magic == MAGIC:
            self.kind = "pcapng"
            self._file = self._pcapng()
        elif magic not in MAGICS:
            raise Malformed(f"not a capture: starts with {_shown(magic)}")
        elif len(buf) < HEADER_SIZE:
            self.kind = "pcap"
            self._needed = HEADER_SIZE
        else:
            self.kind = "pcap"
            self._header = buf[:HEADER_SIZE]
            self._file = self._pcap()
            self._at = HEADER_SIZE
            buf = buf[HEADER_SIZE:]
        if self._file is not None:
            self._file.packets = self._before
        return buf

    def _pcap(self) -> Pcap:
        return self.formats[0](self._header, self._dissector, fused=self._fused)

    def _pcapng(self) -> Pcapng:
        return self.formats[1](self._dissector, fused=self._fused)

    @property
    def fragmented(self) -> int:
        """The number of IP packets of which some fragment was seen so far."""
        return self._dissector.fragments.begun

    def finish(self, since: int = 0, until: int | None = None) -> list[Segment]:
        """No byte follows. Gives no segment; sets `problem` where the capture ends inside a record, or is none.

        A reader of a part of a file says which IP packets it is to miss fragments of: those that came when `fragmented`
        was at least `since` and below `until`; other readers look after the others.
        """
        self._dissector.fragments.finish(since, until)
        if self.problem is None:
            end = self._at + self._held
            if self.kind is None:
                start = b"".join(self._parts)
                self.problem = Truncated(f"not a capture: {f'only {_shown(start)}' if start else 'empty'}", offset=end)
            elif self._held:
                self.problem = Truncated("cut off inside a packet" if self._file else "cut off", offset=end)
        self._parts, self._held = [], 0
        return []

    @property
    def at(self) -> int:
        """The byte of the file behind the last packet that was read, while there is no `problem`."""
        return self._at

    def export(self, *, held: bool = True) -> bytes:
        """The state between two feeds, for `resume`. Without what is `held` it is to be fed from byte `at` on."""
        problem = self.problem
        return pack(
            [
                self._before,
                self.kind,
                self._header,
                self._file.export() if self._file else None,
                b"".join(self._parts) if held else b"",
                self._at,
                self._needed,
                self._segments,
                dict(self._dissector.counts),
                self._dissector.fragments.export(),
                [type(problem).__name__, problem.text, problem.offset] if problem else None,
            ]
        )

    def resume(self, state: bytes) -> None:
        """Go on where `export` was called, maybe in another process. Raises DecodeError when the state is none."""
        self._before, kind, header, file, held, at, needed, segments, counts, fragments, problem = fields(
            unpack(state),
            int,
            str | None,
            bytes,
            list | None,
            bytes,
            int,
            int,
            int,
            dict,
            list,
            list | None,
        )
        if counts.keys() != self._dissector.counts.keys() or not all(isinstance(n, int) for n in counts.values()):
            raise Malformed("a saved state with other counts")
        self._dissector.counts.update(counts)
        self._dissector.fragments.resume(fragments)
        self.kind, self._header, self._at, self._needed, self._segments = kind, header, at, needed, segments
        self._parts, self._held = [held], len(held)
        self._file = None
        if file is not None:
            if kind == "pcapng":
                self._file = self._pcapng()
            elif len(header) == HEADER_SIZE and header[:_MAGIC_SIZE] in MAGICS:
                self._file = self._pcap()
            else:
                raise Malformed("a saved state of no known format")
            self._file.resume(file)
        self.problem = None
        if problem is not None:
            name, text, offset = fields(problem, str, str, int)
            self.problem = _PROBLEMS.get(name, DecodeError)(text, offset=offset)


def _shown(start: bytes) -> str:
    text = start.decode("latin-1")
    return f'"{text}"' if text.isascii() and text.isprintable() else f"bytes {start.hex(' ')}"
