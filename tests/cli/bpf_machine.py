"""The classic BPF machine, as far as filters of packets need it, and libpcap's compiler: what the kernel would take."""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from decoders.named_tuple import NamedTuple

ETHERNET: Final = 1
RAW: Final = 12
FACTS: Final = 0xFFFFF000
WORD: Final = 0xFFFFFFFF


class Packet(NamedTuple):
    """A packet's bytes, and the tag that the kernel took out of it; None where it has none."""

    data: bytes
    tag: int | None = None


class _Instruction(ctypes.Structure):
    _fields_ = (("code", ctypes.c_ushort), ("jt", ctypes.c_ubyte), ("jf", ctypes.c_ubyte), ("k", ctypes.c_uint))


class _Program(ctypes.Structure):
    _fields_ = (("size", ctypes.c_uint), ("instructions", ctypes.POINTER(_Instruction)))


@cache
def libpcap() -> Any:
    """The library; None where it is not installed."""
    for name in ("libpcap.so.0.8", "libpcap.so.1", "libpcap.so", ctypes.util.find_library("pcap")):
        try:
            found = ctypes.CDLL(name) if name else None
        except OSError:
            continue
        if found is not None:
            found.pcap_open_dead.restype = ctypes.c_void_p
            found.pcap_geterr.restype = ctypes.c_char_p
            return found
    return None


def compile_by_libpcap(text: str, link_type: int) -> list[tuple[int, int, int, int]] | None:
    """libpcap's program for a capture of this link type, as written; None where it refuses the text."""
    library = libpcap()
    handle = ctypes.c_void_p(library.pcap_open_dead(link_type, 0x40000))
    program = _Program()
    try:
        if library.pcap_compile(handle, ctypes.byref(program), text.encode(), 0, 0xFFFFFFFF):
            return None
        lines = (program.instructions[number] for number in range(program.size))
        made = [(line.code, line.jt, line.jf, line.k) for line in lines]
        library.pcap_freecode(ctypes.byref(program))
        return made
    finally:
        library.pcap_close(handle)


def run(program: Sequence[tuple[int, int, int, int]], packet: Packet) -> bool:
    """Whether a program takes a packet."""
    machine = _Machine(packet)
    at = 0
    for _ in range(len(program) + 1):
        code, if_true, if_false, k = program[at]
        at += 1
        kind = code & 7
        if kind == 5:
            holds = code == 5 or machine.compare(code, k)
            at += k if code == 5 else if_true if holds else if_false
        elif kind == 6:
            return bool(machine.a if code & 0x18 == 0x10 else k)
        elif not machine.step(kind, code, k):
            return False
    raise AssertionError("the program does not end")


class _Machine:
    """The accumulator `a`, the index `x` and the memory, for one packet."""

    def __init__(self, packet: Packet) -> None:
        self.packet = packet
        self.a = self.x = 0
        self.memory = [0] * 16

    def compare(self, code: int, k: int) -> bool:
        operand = self.x if code & 8 else k
        kinds = {0x10: self.a == operand, 0x20: self.a > operand, 0x30: self.a >= operand, 0x40: self.a & operand}
        return bool(kinds[code & 0xF0])

    def step(self, kind: int, code: int, k: int) -> bool:
        """Run an instruction that jumps nowhere; False where it reads beyond the packet."""
        if kind == 0:
            return self._load({0x00: 4, 0x08: 2, 0x10: 1}[code & 0x18], code & 0xE0, k)
        if kind == 1:
            return self._load_index(code, k)
        if kind in (2, 3):
            self.memory[k] = self.a if kind == 2 else self.x
        elif kind == 4:
            operand = self.x if code & 8 else k
            numbers = {0x00: self.a + operand, 0x10: self.a - operand, 0x40: self.a | operand, 0x50: self.a & operand}
            self.a = numbers[code & 0xF0] & WORD
        elif code & 0x80:
            self.a = self.x
        else:
            self.x = self.a
        return True

    def _load(self, size: int, mode: int, k: int) -> bool:
        data = self.packet.data
        place = k if mode == 0x20 else (self.x + k) & WORD
        if mode in (0x00, 0x60):
            self.a = self.memory[k] if mode else k
        elif mode == 0x20 and k >= FACTS:
            self.a = {44: self.packet.tag or 0, 48: int(self.packet.tag is not None)}[k - FACTS]
        elif place + size > len(data):
            return False
        else:
            self.a = int.from_bytes(data[place : place + size], "big")
        return True

    def _load_index(self, code: int, k: int) -> bool:
        if code == 0xB1:
            if k >= len(self.packet.data):
                return False
            self.x = 4 * (self.packet.data[k] & 15)
        else:
            self.x = self.memory[k] if code & 0xE0 == 0x60 else k
        return True
