"""Clients and what they use in; for each client its uses, with how often, and when first and last, out.

No client is ever left out: an audit that did so could miss the one that breaks. So a client costs little memory, a
sixth of what a dict of tuples takes: its name is one text, what it uses has a number that all clients share, and the
counts are in arrays, a row for each use of a client that leads to the client's row before it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Any, Final, Self

from decoders.errors import Malformed
from decoders.named_tuple import NamedTuple
from decoders.wire.state_serialization import pack, state_fields, unpack

__all__ = ["AuditedClient", "ClientUses", "Used", "name_in_client_text"]

# What is used: any values, of which few different ones come.
Use = tuple[Any, ...]
# A client, what it used, how often, first and last time in ns.
Used = tuple["AuditedClient", Use, int, int, int]
# Rows of a client that are looked through; with more of them a dict finds the row.
_CHAIN_MAX: Final = 16


class AuditedClient(NamedTuple):
    """A client as requests name it: by client id and host, and by its software where it says one."""

    client_id: str | None
    host: str
    software: str | None = None
    software_version: str | None = None


class ClientUses:
    """How often each client used what, and when first and last in ns."""

    def __init__(self) -> None:
        self._clients: dict[str, int] = {}  # name → number
        self._uses: dict[Use, int] = {}
        self._latest = array("i")  # by client: its latest row
        # By row: the use, how often, first and last time; the row of the same client before it, -1: none.
        self._use, self._before = array("i"), array("i")
        self._times, self._first, self._last = array("q"), array("q"), array("q")
        self._listed: list[Use] = []  # the keys of `_uses`, by number
        self._rows: dict[int, dict[int, int]] = {}  # client → use → row, of clients with many uses

    def count_use(self, client: AuditedClient, use: Use, times: int, first: int, last: int) -> None:
        """Count that a client used something so many times, from `first` to `last`."""
        text = _pack_client_into_text(client)
        number = self._clients.get(text)
        if number is None:
            number = self._clients[text] = len(self._latest)
            self._latest.append(-1)
        used = self._uses.setdefault(use, len(self._uses))
        row = self._find_row_of_use(number, used)
        if row < 0:
            self._add_row(number, used, times, first, last)
            return
        self._times[row] += times
        if first < self._first[row]:
            self._first[row] = first
        if last > self._last[row]:
            self._last[row] = last

    def _find_row_of_use(self, number: int, used: int) -> int:
        rows = self._rows.get(number)
        if rows is not None:
            return rows.get(used, -1)
        row = self._latest[number]
        length = 0
        while row >= 0 and self._use[row] != used:
            row = self._before[row]
            length += 1
        if length > _CHAIN_MAX:
            self._rows[number] = {self._use[each]: each for each in self._rows_of_client(number)}
        return row

    def _add_row(self, number: int, used: int, times: int, first: int, last: int) -> None:
        row = len(self._use)
        self._use.append(used)
        self._before.append(self._latest[number])
        self._times.append(times)
        self._first.append(first)
        self._last.append(last)
        self._latest[number] = row
        if number in self._rows:
            self._rows[number][used] = row

    def _rows_of_client(self, number: int) -> Iterator[int]:
        row = self._latest[number]
        while row >= 0:
            yield row
            row = self._before[row]

    def list_client_texts(self) -> list[str]:
        """The clients as texts for `uses_of_client`, in the order of their names."""
        return sorted(self._clients)

    def uses_of_client(self, text: str) -> list[Used]:
        """What a client of `texts` used."""
        client, uses = _read_client_from_text(text), self._uses_by_number()
        return [
            (client, uses[self._use[row]], self._times[row], self._first[row], self._last[row])
            for row in self._rows_of_client(self._clients[text])
        ][::-1]

    def _uses_by_number(self) -> list[Use]:
        if len(self._listed) != len(self._uses):
            self._listed = list(self._uses)
        return self._listed

    def __iter__(self) -> Iterator[Used]:
        for text in self._clients:
            yield from self.uses_of_client(text)

    def merge(self, other: Self) -> None:
        """Add what `other` has counted."""
        for used in other:
            self.count_use(*used)

    def export(self) -> bytes:
        """The state, for `resume`."""
        return pack([[tuple(client), *counted] for client, *counted in self])

    def resume(self, state: bytes) -> None:
        """Restore the state that `export` gave. Raises DecodeError."""
        (rows,) = state_fields([unpack(state)], list)
        for row in rows:
            client, use, times, first, last = state_fields(row, tuple, tuple, int, int, int)
            parts = state_fields(client, str | None, str, str | None, str | None)
            if not all(isinstance(part, str | int) and not isinstance(part, bool) for part in use):
                raise Malformed("a use of a client that is not made of texts and numbers")
            self.count_use(AuditedClient(*parts), use, times, first, last)


def name_in_client_text(text: str) -> str:
    """The client id of a client among `texts`, or where it has none its host."""
    return _unescape_separators(text.partition(_END)[0])


# A text of a client has its name first, so that texts in order are in the order of names.
_END: Final = "\0"
_KINDS: Final = {None: "-", "": "0"}  # of client ids; all others have "="


def _pack_client_into_text(client: AuditedClient) -> str:
    client_id, host, software, version = client
    named = _escape_separators(client_id or host)
    kind = "=" if client_id else _KINDS[client_id]
    if software is None and version is None:
        return f"{named}\0{kind}{_escape_separators(host)}"
    rest = ["-" if part is None else f"={_escape_separators(part)}" for part in (software, version)]
    return f"{named}\0{kind}{_escape_separators(host)}\0{rest[0]}\0{rest[1]}"


def _read_client_from_text(text: str) -> AuditedClient:
    named, host, *rest = text.split(_END)
    client_id = _unescape_separators(named) if host[0] == "=" else None if host[0] == "-" else ""
    software, version = (None if part == "-" else _unescape_separators(part[1:]) for part in rest or "--")
    return AuditedClient(client_id, _unescape_separators(host[1:]), software, version)


def _escape_separators(text: str) -> str:
    if "\0" in text or "\1" in text:
        return text.replace("\1", "\1\2").replace("\0", "\1\3")
    return text


def _unescape_separators(text: str) -> str:
    return text.replace("\1\3", "\0").replace("\1\2", "\1") if "\1" in text else text
