"""One split of a capture's segments in, parts (`parts.py`) out, of which stitchers make the whole capture's rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from decoders.exchanges.needs import Needs
from decoders.exchanges.parts import FACT, SEGMENTS, Facts, Part, canonical, pack_segments
from decoders.limits import SEGMENT_COST
from decoders.streams.chunks import Segment

__all__ = ["Splitter"]

# Bytes of segments that one part has, about; and that wait for more of their key, all keys together.
PART_SIZE: Final = 256 << 10
WAITING_MAX: Final = 32 << 20


class Track:
    """What a split has of one key: the segments that are not handed on yet, how many parts were."""

    __slots__ = ("key", "segments", "seq", "size")

    def __init__(self, key: bytes) -> None:
        self.key = key
        self.seq = 0
        self.segments: list[Segment] = []
        self.size = 0


class Splitter:
    """One split of one timeline. With `raw` nothing is decoded here: all segments are handed on."""

    def __init__(self, ports: Iterable[int] | None = None, needs: Needs | None = None, *, raw: bool = False) -> None:
        self._raw, self._ports, self._needs = raw, ports, needs
        self._tracks: dict[bytes, Track] = {}  # by both keys
        self._size = 0
        self._facts = Facts()

    def feed(self, segments: list[Segment]) -> list[Part]:
        """The parts that are ready."""
        parts: list[Part] = []
        tracks = self._tracks
        for segment in segments:
            track = tracks.get(segment[0]) or self._track(segment[0])
            track.segments.append(segment)
            size = len(segment[6]) + SEGMENT_COST
            track.size += size
            self._size += size
            if track.size >= PART_SIZE:
                self._hand_on(track, parts)
        if segments:
            self._facts.last = segments[-1][1:3]
        if self._size > WAITING_MAX:
            self._hand_all_on(parts)
        return parts

    def finish(self) -> list[Part]:
        """The rest."""
        parts: list[Part] = []
        self._hand_all_on(parts)
        return [*parts, Part(b"", 0, FACT, self._facts.pack(), [])]

    def _hand_all_on(self, parts: list[Part]) -> None:
        for key, track in self._tracks.items():
            if track.segments and key == track.key:
                self._hand_on(track, parts)

    def _track(self, key: bytes) -> Track:
        its = canonical(key)
        track = self._tracks[key] = self._tracks.setdefault(its, Track(its))
        return track

    def _hand_on(self, track: Track, parts: list[Part]) -> None:
        parts.append(Part(track.key, track.seq, SEGMENTS, pack_segments(track.key, track.segments), []))
        track.seq += 1
        self._size -= track.size
        track.segments, track.size = [], 0
