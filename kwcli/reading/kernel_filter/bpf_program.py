"""Conditions on a packet's bytes in, a program of the classic BPF machine out, which the kernel runs for each packet.

A condition is a comparison of a number that the packet has at a place (`Test`), or `all_of`, `any_of`, `negate` of
conditions. A program is a list of instructions (code, jump if true, jump if false, operand), as in linux/filter.h.

Jumps of a comparison reach 255 instructions. A target that is farther away is reached through an unconditional jump
beside the comparison. Reading beyond the packet's end ends a program at once, and the packet is not taken.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any, Final

from decoders.named_tuple import NamedTuple

__all__ = [
    "ACCEPTED",
    "ALWAYS",
    "NEVER",
    "Combination",
    "Condition",
    "Instruction",
    "Load",
    "Negation",
    "Test",
    "all_of",
    "any_of",
    "assemble_program",
    "negate",
    "pack_instructions",
    "unpack_instructions",
]

# linux/bpf_common.h: class, size and mode of an instruction.
LD_WORD_ABS: Final = 0x20
LD_HALF_ABS: Final = 0x28
LD_BYTE_ABS: Final = 0x30
LD_HALF_IND: Final = 0x48
LDX_HEADER: Final = 0xB1
AND: Final = 0x54
JUMP: Final = 0x05
JUMP_EQUAL: Final = 0x15
JUMP_ABOVE: Final = 0x25
JUMP_AT_LEAST: Final = 0x35
JUMP_ANY_BIT: Final = 0x45
RETURN: Final = 0x06
LOADS: Final = {1: LD_BYTE_ABS, 2: LD_HALF_ABS, 4: LD_WORD_ABS}
# How much of an accepted packet is kept: more than any packet has.
ACCEPTED: Final = 0x40000
REACH: Final = 255
# No code of an instruction: the line is a label.
_LABEL: Final = -1
_SOCK_FILTER: Final = struct.Struct("=HBBI")


class Instruction(NamedTuple):
    """One instruction: `code`, how many instructions to skip if true and if false, and the operand."""

    code: int
    if_true: int
    if_false: int
    operand: int


ACCEPT: Final = Instruction(RETURN, 0, 0, ACCEPTED)


class Load(NamedTuple):
    """Where a number stands: `size` bytes at `at`; behind the IPv4 header that begins at `header`, if there is one.

    `mask` is what stays of the number; None for all of it.
    """

    at: int
    size: int
    header: int | None = None
    mask: int | None = None


class Test(NamedTuple):
    """Whether a number compares with `value` as the jump `code` says."""

    load: Load
    code: int
    value: int


class Combination(NamedTuple):
    """`every` True: all conditions hold; False: at least one holds. They are asked in order, as far as needed."""

    every: bool
    parts: tuple[Any, ...]  # Condition: a class cannot name itself here


class Negation(NamedTuple):
    """The opposite of a condition."""

    part: Any


Condition = Test | Combination | Negation
ALWAYS: Final = Combination(True, ())
NEVER: Final = Combination(False, ())


def all_of(*parts: Condition) -> Condition:
    """The condition that all of these hold."""
    return parts[0] if len(parts) == 1 else Combination(True, parts)


def any_of(*parts: Condition) -> Condition:
    """The condition that at least one of these holds."""
    return parts[0] if len(parts) == 1 else Combination(False, parts)


def negate(part: Condition) -> Condition:
    """The opposite of a condition."""
    return Negation(part)


class _Code:
    """Instructions before their jumps have places: a jump names labels, and labels stand between instructions."""

    def __init__(self) -> None:
        self.lines: list[tuple[int, int, int, int]] = []  # code, label if true, label if false, operand; or a label
        self.labels = 0
        self._loaded: Load | None = None  # what the accumulator has wherever this place is reached from

    def make_label(self) -> int:
        self.labels += 1
        return self.labels

    def place_label(self, label: int) -> None:
        self.lines.append((_LABEL, label, 0, 0))
        self._loaded = None

    def add_condition(self, condition: Condition, yes: int, no: int) -> None:
        """Go to the label `yes` if a condition holds, else to `no`."""
        if isinstance(condition, Negation):
            self.add_condition(condition.part, no, yes)
        elif isinstance(condition, Test):
            self._add_load_instructions(condition.load)
            self.lines.append((condition.code, yes, no, condition.value))
        elif condition.parts:
            for part in condition.parts[:-1]:
                following = self.make_label()
                self.add_condition(part, *((following, no) if condition.every else (yes, following)))
                loaded = self._loaded if _is_comparison(part) else None
                self.place_label(following)
                self._loaded = loaded
            self.add_condition(condition.parts[-1], yes, no)
        else:
            self.lines.append((JUMP, yes if condition.every else no, 0, 0))
            self._loaded = None

    def _add_load_instructions(self, load: Load) -> None:
        if load == self._loaded:
            return
        self._loaded = load
        if load.header is None:
            self.lines.append((LOADS[load.size], 0, 0, load.at))
        else:
            self.lines.append((LDX_HEADER, 0, 0, load.header))
            self.lines.append((LD_HALF_IND, 0, 0, load.header + load.at))
        if load.mask is not None:
            self.lines.append((AND, 0, 0, load.mask))


def _is_comparison(part: Condition) -> bool:
    """Whether the label behind `part` is reached from one comparison only: the accumulator then has its number."""
    return isinstance(part.part if isinstance(part, Negation) else part, Test)


def assemble_program(condition: Condition, following: Sequence[Instruction] = (ACCEPT,)) -> list[Instruction]:
    """The program that accepts the packets for which a condition holds; or has `following` decide about them."""
    code = _Code()
    yes, no = code.make_label(), code.make_label()
    code.add_condition(condition, yes, no)
    code.place_label(no)
    code.lines.append((RETURN, 0, 0, 0))
    code.place_label(yes)
    return [*_place_jumps(code.lines), *following]


def _place_jumps(lines: Sequence[tuple[int, int, int, int]]) -> list[Instruction]:
    far: set[int] = set()  # comparisons of which a target is out of reach
    while True:
        places, at = {}, 0
        for number, (code, label, _, _) in enumerate(lines):
            if code == _LABEL:
                places[label] = at
            else:
                at += 3 if number in far else 1
        made: list[Instruction] = []
        beyond = set()
        for number, (code, yes, no, operand) in enumerate(lines):
            here = len(made) + 1
            if code == _LABEL:
                continue
            if code == JUMP:
                made.append(Instruction(JUMP, 0, 0, places[yes] - here))
            elif code not in (JUMP_EQUAL, JUMP_ABOVE, JUMP_AT_LEAST, JUMP_ANY_BIT):
                made.append(Instruction(code, 0, 0, operand))
            elif number in far:
                made.append(Instruction(code, 0, 1, operand))
                made.append(Instruction(JUMP, 0, 0, places[yes] - here - 1))
                made.append(Instruction(JUMP, 0, 0, places[no] - here - 2))
            else:
                if max(places[yes], places[no]) - here > REACH:
                    beyond.add(number)
                made.append(Instruction(code, places[yes] - here & 0xFF, places[no] - here & 0xFF, operand))
        if not beyond:
            return made
        far |= beyond


def pack_instructions(program: Iterable[Instruction]) -> bytes:
    """A program as the kernel takes it: an array of struct sock_filter."""
    return b"".join(_SOCK_FILTER.pack(*each) for each in program)


def unpack_instructions(data: bytes) -> list[Instruction]:
    """The program of an array of struct sock_filter."""
    return [Instruction(*each) for each in _SOCK_FILTER.iter_unpack(data)]
