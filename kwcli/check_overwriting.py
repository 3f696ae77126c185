"""The name of an output file in; Failure out where it would replace a file that the same command did not write."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from typing import BinaryIO, Final

from kwcli.private_files import is_path_of_open_descriptor
from kwcli.run_environment import Exit, Failure

__all__ = ["is_names_table", "is_report_page", "is_scrubbed_capture", "refuse_overwriting"]

# How much of a file is read to find the mark of the command that wrote it.
_HEAD: Final = 1 << 16
# The heads of pages: today's, and those of versions that wrote no generator.
_PAGE: Final = re.compile(
    rb'<!DOCTYPE html>\n<html lang="en">\n<head>\n.{0,2000}?'
    rb'(<meta name="generator" content="kw report">|<link rel="icon" href="data:,">\n<title>Kafka traffic)',
    re.DOTALL,
)
_NAMES: Final = re.compile(rb'\{"kind":"[a-z_]+","name":"')
_SECTION: Final = b"\x0a\x0d\x0d\x0a"
_ORDER: Final = b"\x4d\x3c\x2b\x1a"  # of a little-endian section, as kw writes them
_BLOCK_HEAD: Final = 12
_OPTIONS_AT: Final = 24
_PROGRAM: Final = 4


def refuse_overwriting(name: str, is_own: Callable[[BinaryIO], bool], command: str, *, force: bool) -> None:
    """Raise Failure (usage) where `name` is a regular file with content that is not the command's own.

    `is_own` is asked about the open file. Devices, FIFOs and open descriptors hold nothing to lose.
    """
    try:
        if force or not stat.S_ISREG(os.stat(name).st_mode) or is_path_of_open_descriptor(name):
            return
        with open(name, "rb") as file:
            if not file.peek(1) or is_own(file):
                return
    except FileNotFoundError:
        return
    except OSError as error:
        raise Failure(f"{name}: {(error.strerror or str(error)).lower()}") from None
    raise Failure(f"{name}: this file exists, and {command} did not write it; --force replaces it", Exit.USAGE)


def is_report_page(file: BinaryIO) -> bool:
    """Whether a file is a page of `kw report`."""
    return _PAGE.match(file.read(_HEAD)) is not None


def is_names_table(file: BinaryIO) -> bool:
    """Whether a file is a table of names of `kw scrub`."""
    return _NAMES.match(file.read(_HEAD)) is not None


def is_scrubbed_capture(file: BinaryIO) -> bool:
    """Whether a file is a capture of `kw scrub` to its end: another one may have been appended to it."""
    at, sections = 0, 0
    while len(head := file.read(_BLOCK_HEAD)) == _BLOCK_HEAD:
        size = int.from_bytes(head[4:8], "little")
        begins = head.startswith(_SECTION)
        if size < _BLOCK_HEAD or not (sections or begins):
            return False
        if begins:
            if sections or not _is_section_of_program("kw scrub", head + file.read(min(size, _HEAD) - _BLOCK_HEAD)):
                return False
            sections += 1
        at += size
        file.seek(at)
    return sections == 1 and not head


def _is_section_of_program(program: str, head: bytes) -> bool:
    """Whether a section of a pcapng file names this program."""
    if head[8:12] != _ORDER:
        return False
    at, end = _OPTIONS_AT, int.from_bytes(head[4:8], "little") - 4
    while at + 4 <= min(end, len(head)):
        code, size = int.from_bytes(head[at : at + 2], "little"), int.from_bytes(head[at + 2 : at + 4], "little")
        if code == _PROGRAM:
            return head[at + 4 : at + 4 + size] == program.encode()
        at += 4 + (size + 3 & -4)
    return False
