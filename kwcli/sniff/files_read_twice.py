"""The files of runs that read their inputs twice (`kw sniff -w`, `kw scrub`): the output, and the inputs again."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, cast

from decoders.capture.pcapng_writer import PcapngWriter
from decoders.capture.read_packet_copies import CopyReader, PacketCopy
from kwcli.private_files import StagedFile
from kwcli.reading.read_captures_by_time import Captures
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from kwcli.run_environment import Environment, Readable

__all__ = [
    "OutFile",
    "Spooled",
    "copy_environment_with_stdin",
    "refuse_unwritable_output_or_piped_inputs",
    "reopen_captures",
]


class Spooled:
    """Standard input; all that is read of it is kept in an unnamed file, to be read again."""

    def __init__(self, stdin: Readable) -> None:
        self._stdin = stdin
        self.file: IO[bytes] = TemporaryFile("w+b")  # noqa: SIM115  # until the end of the run

    def read1(self, size: int = -1) -> bytes:
        """The next bytes that are there."""
        data = self._stdin.read1(size)
        self.file.write(data)
        return data


class OutFile:
    """The file that is written, under another name until it is whole."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._staged: StagedFile | None = None
        self._sources: dict[tuple[int, str], int] = {}
        self.packets = 0

    def create_file(self) -> None:
        """Make the file. Raises Failure where it cannot be made."""
        try:
            self._staged = StagedFile(self._name)
        except OSError as error:
            raise Failure(f"{self._name}: {(error.strerror or str(error)).lower()}") from None

    def write(self, data: bytes) -> None:
        """Write a block."""
        assert self._staged is not None
        self._staged.file.write(data)

    def write_packet(self, packet: PacketCopy, comments: Sequence[str]) -> None:
        """Write a packet, after the packets with its other fragments."""
        for fragment in packet.earlier:
            self.write_packet(fragment, ())
        source = self._sources.get(packet.source)
        if source is None:
            source = self._sources[packet.source] = len(self._sources)
            self.write(PcapngWriter.make_interface_block(*packet.source))
        self.write(
            PcapngWriter.make_commented_packet_block(
                packet.time_ns, packet.frame, comments, wire=packet.wire, interface=source
            )
        )
        self.packets += 1

    def flush(self) -> str:
        """Flush the file; returns the name that it has until `give_final_name`."""
        assert self._staged is not None
        self._staged.file.flush()
        return self._staged.path

    def give_final_name(self) -> None:
        """Close the file, which is whole, and give it its name."""
        assert self._staged is not None
        self._staged.give_final_name()

    def delete_unfinished(self) -> None:
        """Delete the file, unless it has its name already."""
        if self._staged is not None:
            self._staged.delete_unfinished()


def refuse_unwritable_output_or_piped_inputs(name: str, files: Sequence[str]) -> None:
    """Raise Failure (usage) where `name` cannot be written, or one of the files cannot be read twice."""
    from kwcli.reading.list_input_files import is_read_once

    if name == "-":
        raise Failure("-w -: rows go to standard output; name a file: -w OUT.pcapng", Exit.USAGE)
    if name.endswith((".gz", ".zst", ".lz4")):
        raise Failure(f"-w {name}: kw writes captures uncompressed: leave {name[name.rindex('.') :]} out", Exit.USAGE)
    for file in files:
        if file != "-" and is_read_once(file):
            raise Failure(
                f"{file}: -w reads its input twice, but this can be read only once: give it as `-`", Exit.USAGE
            )


def copy_environment_with_stdin(env: Environment, stdin: Spooled | IO[bytes] | None) -> Environment:
    """A copy of the environment with another standard input, where one is given."""
    if stdin is None:
        return env
    env = copy.copy(env)
    env.stdin = cast("Readable", stdin)
    return env


def reopen_captures(names: Sequence[str], env: Environment, spooled: Spooled | None) -> Captures:
    """The captures of these names from their beginnings, read as copies of their packets."""
    if spooled is not None:
        spooled.file.seek(0)
        env = copy_environment_with_stdin(env, spooled.file)
    return Captures(names, env, numbered=True, reader=CopyReader)
