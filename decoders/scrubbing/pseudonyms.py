"""Names and addresses in, pseudonyms of the same length out: one-to-one for each length, by a key.

A name is split at all characters that are neither letters nor digits. Each word in it becomes another word with letters
and digits in the same places: the pseudonyms of `orders-dlq` and `orders` begin alike too, that of a member id begins
with that of its client id, and no table is needed for names inside other values. A word is taken as its index among all
words of its shape; a permutation of the indices by the key, which is one cycle, gives the index of the pseudonym: no
word becomes itself, and no two words become the same one. The permutation is a Feistel network over a hash (Black and
Rogaway, "Ciphers with Arbitrary Finite Domains", 2002), repeated until the result is in the domain.

An octet of an IPv4 address becomes an octet of as many digits. A group of an IPv6 address becomes a group of as many
hexadecimal digits, and 0 stays 0. So one address, in packets or in any text form, has one pseudonym of the same length.
Loopback addresses stay loopback addresses: those of 127.0.0.0/8 replace each other, ::1 stays.
An IPv4 address at the end of the text of an IPv6 address is that IPv4 address. So in two forms an address has another
pseudonym than in packets, of the same length still: IPv4-mapped in hexadecimal digits (`::ffff:a01:203`), and with an
IPv4 address at the end without being IPv4-mapped (`64:ff9b::10.1.2.3`).
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from hashlib import blake2b, shake_256
from ipaddress import IPv6Address
from typing import Final

from decoders.scrubbing.find_text_spelled_by_numbers import SPELLED

__all__ = ["Pseudonyms"]

# Ranges of characters with the same length in UTF-8. Within a range, printable characters replace each other, and so do
# the others. The last range is for bytes that are no UTF-8 (surrogateescape).
_RANGES: Final = (
    (0x30, 0x3A),
    (0x41, 0x5B),
    (0x61, 0x7B),
    (0x80, 0x800),
    (0x800, 0xD800),
    (0xE000, 0x10000),
    (0x10000, 0x110000),
    (0xDC80, 0xDD00),
)
_HEX: Final = "0123456789abcdef"
_UUID: Final = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_PARTS: Final = re.compile(
    rf"(?P<uuid>{_UUID})"
    r"|(?P<six>(?<![0-9A-Za-z:.])[0-9A-Fa-f]{0,4}:(?:[0-9A-Fa-f:]*:)?"
    r"(?:\d{1,3}(?:\.\d{1,3}){3}|(?<=:)[0-9A-Fa-f]{0,4})(?![0-9A-Za-z:.]))"
    r"|(?P<four>(?<![0-9A-Za-z])\d{1,3}(?P<dot>[-._])\d{1,3}(?P=dot)\d{1,3}(?P=dot)\d{1,3}(?![0-9A-Za-z]))"
    "|(?P<word>[0-9A-Za-z\x80-\U0010ffff]{1,128})"
)
# Ranges of numbers that replace each other, each as its first number and their count.
_Ranges = tuple[tuple[int, int], ...]
# Octets that replace each other, as (first, count): those of as many digits; in the first octet, multicast and above
# are apart, and so is loopback.
_OCTETS: Final = ((0, 10), (10, 90), (100, 156))
_FIRST_OCTETS: Final = ((0, 10), (10, 90), (100, 27), (127, 1), (128, 96), (224, 32))
_GROUPS: Final = ((1, 15), (0x10, 0xF0), (0x100, 0xF00), (0x1000, 0xF000))
# Where the last group is the only one that is not zero, 1 is apart: ::1 is loopback.
_LAST_GROUPS: Final = ((1, 1), (2, 14), *_GROUPS[1:])
# The first group of an IPv4 address that is mapped: that of loopback is apart.
_MAPPED_GROUPS: Final = (*_GROUPS[:3], (0x1000, 0x6F00), (0x7F00, 0x100), (0x8000, 0x8000))
_MAPPED: Final = bytes(10) + b"\xff\xff"
_ROUNDS: Final = 10
_OCTET_MAX: Final = 255
# Bits of a MAC address: group address, locally administered.
_GROUP_BIT, _LOCAL_BIT = 1, 2
_KNOWN_MAX: Final = 1 << 16
# The uuids below are Kafka's own (none, the topic of metadata, …). Kafka makes none with a dash in front, where
# it would look like an option; its first six bits are then 62.
_UUIDS_RESERVED: Final = 256
_DASH: Final = 62
# With the bytes beside them, three letters may be four.
_SPELLING: Final = re.compile(b"[A-Za-z]{3}")


class Pseudonyms:
    """Makes pseudonyms. The same `key` gives the same pseudonyms again."""

    def __init__(self, key: bytes) -> None:
        self._key = blake2b(key, digest_size=32).digest()
        self.text = lru_cache(_KNOWN_MAX)(self._text_pseudonym)
        self.four = lru_cache(_KNOWN_MAX)(self._ipv4_pseudonym)
        self.six = lru_cache(_KNOWN_MAX)(self._ipv6_pseudonym)
        self._word = lru_cache(_KNOWN_MAX)(self._word_pseudonym)

    def _text_pseudonym(self, text: str) -> str:
        """The pseudonym of a name, or of a text with names: the separators of its words stay."""
        return _PARTS.sub(self._matched_part_pseudonym, text)

    def _ipv4_pseudonym(self, packed: bytes) -> bytes:
        """The pseudonym of an IPv4 address of 4 bytes."""
        return bytes(self._octet_pseudonym(place, octet) for place, octet in enumerate(packed))

    def _ipv6_pseudonym(self, packed: bytes) -> bytes:
        """The pseudonym of an IPv6 address of 16 bytes; an IPv4-mapped one becomes that of its IPv4 address, mapped."""
        if packed.startswith(_MAPPED):
            return _MAPPED + self.four(packed[12:])
        groups = (int.from_bytes(packed[at : at + 2], "big") for at in range(0, 16, 2))
        last = _LAST_GROUPS if not any(packed[:14]) else _GROUPS
        made = (
            self._ipv6_group_pseudonym(place, group, last if place == 7 else _GROUPS)
            for place, group in enumerate(groups)
        )
        return b"".join(group.to_bytes(2, "big") for group in made)

    def address_pseudonym(self, packed: bytes) -> bytes:
        """The pseudonym of an address of 4 or 16 bytes; other sizes are no addresses and become zeros."""
        return {4: self.four, 16: self.six}.get(len(packed), lambda other: bytes(len(other)))(packed)

    def mac_address_pseudonym(self, packed: bytes) -> bytes:
        """The pseudonym of a MAC address: the group bit stays, the local bit is set; zeros and broadcast stay."""
        if not any(packed) or packed == b"\xff" * len(packed):
            return packed
        made = blake2b(packed, key=self._key, person=b"hardware", digest_size=max(len(packed), 1)).digest()
        return bytes((made[0] & ~_GROUP_BIT | packed[0] & _GROUP_BIT | _LOCAL_BIT,)) + made[1:]

    def uuid_pseudonym(self, packed: bytes) -> bytes:
        """The pseudonym of a uuid, 16 bytes: a random uuid; those that Kafka reserves stay."""
        if int.from_bytes(packed, "big") < _UUIDS_RESERVED:
            return packed
        made = bytearray(blake2b(packed, key=self._key, person=b"uuid", digest_size=16).digest())
        made[6], made[8] = 0x40 | made[6] & 0x0F, 0x80 | made[8] & 0x3F  # version 4 (RFC 9562)
        if made[0] >> 2 == _DASH:
            made[0] ^= 0x80
        return bytes(made)

    def harmless_correlation_id(self, packed: bytes, before: bytes = b"") -> bytes:
        """A correlation id, 4 bytes: itself, but one whose bytes spell text becomes another positive number.

        `before`: bytes before it that may spell a part of the text.
        """
        if not _SPELLING.search(packed) and not SPELLED.search(before + packed):
            return packed
        made = blake2b(packed, key=self._key, person=b"correlation id", digest_size=4).digest()
        return bytes((made[0] & 0x3F, *(byte | 0x80 for byte in made[1:])))

    def letters_without_pattern(self, size: int) -> bytes:
        """`size` letters without a pattern, always the same ones for a key."""
        made = shake_256(self._key + b"noise").digest(size)
        return made.translate(_LETTERS)

    # Parts of names.

    def _matched_part_pseudonym(self, found: re.Match[str]) -> str:
        text = found[0]
        if found["word"]:
            return self._word(text)
        if found["four"]:
            return self._ipv4_text_pseudonym(text, found["dot"])
        if found["uuid"]:
            digits = [_HEX.index(digit) for digit in text if digit != "-"]
            made = iter(self._successor_of_digits(b"uuid", digits, [16] * len(digits)))
            return "".join("-" if digit == "-" else _HEX[next(made)] for digit in text)
        try:
            IPv6Address(text)
        except ValueError:  # no address, but words with colons between them
            return re.sub("[0-9A-Za-z]+", lambda word: self._word(word[0]), text)
        return self._ipv6_text_pseudonym(text)

    def _word_pseudonym(self, word: str) -> str:
        shapes = [_character_class(character) for character in word]
        letters = [_characters_of_class(shape) for shape in shapes]
        digits = [bisect_left(each, ord(character)) for each, character in zip(letters, word, strict=True)]
        made = self._successor_of_digits(bytes(shapes), digits, list(map(len, letters)))
        return "".join(chr(each[digit]) for each, digit in zip(letters, made, strict=True))

    def _ipv4_text_pseudonym(self, text: str, dot: str) -> str:
        words = text.split(dot)
        octets = [int(word) for word in words]
        if max(octets) > _OCTET_MAX or [str(octet) for octet in octets] != words:
            return dot.join(map(self._word, words))
        return dot.join(str(self._octet_pseudonym(place, octet)) for place, octet in enumerate(octets))

    def _ipv6_text_pseudonym(self, text: str) -> str:
        """The pseudonym of an IPv6 address in any text form."""
        address = IPv6Address(text)
        ranges: dict[int, _Ranges] = dict.fromkeys(range(8), _GROUPS)
        if address.ipv4_mapped:
            ranges |= {6: _MAPPED_GROUPS}
        elif not any(address.packed[:14]):
            ranges |= {7: _LAST_GROUPS}
        stay = 6 if address.ipv4_mapped else 0
        hexadecimal, colon, four = text.rpartition(":") if "." in text else (text, "", "")
        before, gap, behind = hexadecimal.partition("::")
        made = self._ipv6_groups_pseudonym(before, 0, stay, ranges) + gap
        made += self._ipv6_groups_pseudonym(behind, (6 if four else 8) - len(behind.split(":")), stay, ranges)
        made += colon + (self._ipv4_text_pseudonym(four, ".") if four else "")
        return made.upper() if text != text.lower() else made

    def _ipv6_groups_pseudonym(self, text: str, first: int, stay: int, ranges: Mapping[int, _Ranges]) -> str:
        """The pseudonyms of groups, the first at place `first` of the address; those at places below `stay` stay."""
        return ":".join(
            digits
            if place < stay or not digits
            else f"{self._ipv6_group_pseudonym(place, int(digits, 16), ranges[place]):x}".zfill(len(digits))
            for place, digits in enumerate(text.split(":"), first)
        )

    def _octet_pseudonym(self, place: int, octet: int) -> int:
        return self._successor_in_ranges(b"octet%d" % place, octet, _OCTETS if place else _FIRST_OCTETS)

    def _ipv6_group_pseudonym(self, place: int, group: int, ranges: _Ranges) -> int:
        return self._successor_in_ranges(b"group%d" % place, group, ranges) if group else 0

    def _successor_in_ranges(self, label: bytes, number: int, ranges: _Ranges) -> int:
        first, count = next(each for each in ranges if number < sum(each))
        return first + self._successor_in_cycle(label + b":%d" % first, number - first, count)

    # Permutations.

    def _successor_of_digits(self, label: bytes, digits: list[int], counts: list[int]) -> list[int]:
        """The digits of the successor (`_successor_in_cycle`) of a number; `counts` are the bases of its digits."""
        number, size = 0, 1
        for digit, count in zip(digits, counts, strict=True):
            number, size = number * count + digit, size * count
        number = self._successor_in_cycle(label, number, size)
        made = []
        for count in reversed(counts):
            number, digit = divmod(number, count)
            made.append(digit)
        return made[::-1]

    def _successor_in_cycle(self, label: bytes, number: int, size: int) -> int:
        """The successor of a number in a cycle through all numbers below `size`."""
        half = ((size - 1).bit_length() + 1) // 2
        place = (self._permute_number(label, number, size, half, range(_ROUNDS)) + 1) % size
        return self._permute_number(label, place, size, half, range(_ROUNDS - 1, -1, -1))

    def _permute_number(self, label: bytes, number: int, size: int, half: int, rounds: range) -> int:
        """A permutation of the numbers below `size`, applied to one; its inverse if `rounds` counts down."""
        mask, width = (1 << half) - 1, (half + 7) // 8
        backward = rounds.step < 0
        begun = shake_256(self._key + len(label).to_bytes(2, "big") + label)
        while True:
            left, right = number >> half, number & mask
            if backward:
                left, right = right, left
            for turn in rounds:
                mixed = begun.copy()
                mixed.update(bytes((turn,)) + right.to_bytes(width, "big"))
                left, right = right, left ^ (int.from_bytes(mixed.digest(width), "big") & mask)
            if backward:
                left, right = right, left
            number = left << half | right
            if number < size:
                return number


def _character_class(character: str) -> int:
    """The number of a character's class: the characters of a class replace each other."""
    code = ord(character)
    index = next(index for index, (first, end) in enumerate(_RANGES) if first <= code < end)
    return index << 1 | character.isprintable()


@cache
def _characters_of_class(character_class: int) -> Sequence[int]:
    """The code points of the characters of a shape, ascending."""
    first, end = _RANGES[character_class >> 1]
    if first < 0x80:  # all of them can be printed
        return range(first, end)
    return array("L", (code for code in range(first, end) if chr(code).isprintable() is bool(character_class & 1)))


# The letter for each byte of noise.
_LETTERS: Final = bytes(
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"[byte & 63] for byte in range(256)
)
