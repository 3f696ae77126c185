"""Names of captures and settings in, a capture that may be sent to others out, or the reason why there is none.

The problem. Names and addresses are everywhere in a capture: names in messages, in structures inside bytes of messages,
in compressed batches; addresses in packets and as text; and the capture is larger than memory. A name that is missed is
sent to strangers.

The idea. Only those bytes of a packet's payload reach the new file that are known by their declaration. The capture is
read twice: the first time it is decoded as ever, and each frame is written anew, byte for byte in its place; the second
time packets are copied with payloads that are made of these frames alone, and all other bytes are overwritten. Then the
new file is read, as any receiver would, and searched.

```
1st  segments ─► log ─► engine ─► exchange ─► frames, scrubbed ─► parts of packets, sorted by packet
                                   │                                         │
                                   └─► facts ──────────────────┐             ▼
2nd  packets ──────────────────────────────────────────────────┼──► header, part, part ─► OUT, under another name
3rd  OUT ─► engine ─► facts: the same? names, secrets: none? ──┴──► its own name, or removed
```

What always holds: OUT gets its name only when the check has found nothing. Memory is bounded by what an engine needs
and by the names; new bytes go to temporary files, which hold nothing that is not scrubbed.

What is given up: packets without TCP, and what cannot be decoded. A second copy of bytes that came late is overwritten,
for the first one counts.
"""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

import orjson

from decoders.scrubbing.pseudonyms import Pseudonyms
from decoders.scrubbing.replace_names import NameReplacer
from decoders.wire.primitive_types import format_uuid
from kwcli.check_overwriting import is_names_table, is_scrubbed_capture, refuse_overwriting
from kwcli.output.short_texts import count_of
from kwcli.private_files import is_path_of_open_descriptor, open_private_file, write_private_file
from kwcli.reading.capture_sources import STANDARD_INPUT
from kwcli.reading.list_input_files import choose_key_logs
from kwcli.reading.read_captures_by_time import Captures
from kwcli.reading.sinks.closing_lines import DROPPED_KEYS_LINE
from kwcli.reading.tls_key_log_files import KeyLogFiles, add_secrets_of_captures
from kwcli.run_environment import Exit, Failure
from kwcli.scrub.check_scrubbed_capture import ScrubbedCaptureCheck
from kwcli.scrub.make_scrubbed_payloads import FirstReading
from kwcli.scrub.write_scrubbed_capture import write_scrubbed_capture
from kwcli.sniff.files_read_twice import (
    OutFile,
    Spooled,
    copy_environment_with_stdin,
    refuse_unwritable_output_or_piped_inputs,
    reopen_captures,
)
from kwcli.terminal.progress import ProgressLine

if TYPE_CHECKING:
    from kwcli.run_environment import Environment
    from kwcli.scrub import ScrubOptions

__all__ = ["run_scrub"]

_SALT_SIZE: Final = 32
_SALT_MIN: Final = 16


def run_scrub(settings: ScrubOptions, env: Environment) -> Exit:
    """Do `kw scrub`: write the scrubbed capture, and say what was done; the exit code. Raises Failure."""
    name = settings.out
    refuse_unwritable_output_or_piped_inputs(name, (settings.source,))
    key_logs = KeyLogFiles(choose_key_logs(settings.keylogs, env.variables))
    names = NameReplacer(Pseudonyms(_read_or_make_salt(settings.salt_file)), frozenset(settings.keep))
    reading = FirstReading(names, frozenset(settings.ports) or None, key_logs.keys)
    spooled = Spooled(env.stdin) if settings.source == "-" else None
    out = OutFile(name)
    progress = ProgressLine(env, None, wanted=not settings.quiet)
    try:
        inputs = Captures(
            (settings.source,),
            copy_environment_with_stdin(env, spooled),
            numbered=True,
            on_secrets=key_logs.keys.add_lines,
            cut_receiver=reading.engine,
        )
        key_logs.keys.look_further = partial(add_secrets_of_captures, key_logs.keys, inputs.names)
        _check_inputs_can_be_scrubbed(inputs, settings)
        out.create_file()  # before anything is read: it may not be possible to make the file
        progress.set_total(inputs.size)
        for segments in inputs:
            reading.feed(segments)
            progress.show_progress(inputs.taken, reading.tally.count)
        reading.finish()
        progress.hide_line()
        if key_logs.failures:
            raise Failure(f"{key_logs.failures[0]}; {name} is not written")
        problems = [*inputs.problems, *(f"{each}: {problem.text}" for each, problem in inputs.cut_captures())]
        counts = inputs.packet_counts()
        sources = ["-" if each == STANDARD_INPUT else each for each in inputs.names]
        packets = reopen_captures(sources, env, spooled)
        written = write_scrubbed_capture(packets, reading, out, cut_out=bool(counts["cut_out"]))
        if packets.problems:
            raise Failure(
                f"{name}: the capture could not be read a second time: {packets.problems[0]}; it is not written"
            )
        check = ScrubbedCaptureCheck(out.flush(), reading, frozenset(settings.ports) or None, env)
        if check.problems:
            raise Failure(f"{name}: {'; '.join(check.problems)}; it is not written")
        if settings.names_file is not None:
            _write_table_of_names(settings.names_file, names)
        out.give_final_name()
    except OSError as error:
        raise Failure(
            f"{error.filename or name}: {(error.strerror or str(error)).lower()}; it is not written"
        ) from None
    finally:
        progress.hide_line()
        out.delete_unfinished()
        reading.close()
        if spooled is not None:
            spooled.file.close()
    dropped = [DROPPED_KEYS_LINE] if key_logs.keys.counts["dropped"] else []
    for problem in (*key_logs.problems, *dropped, *problems):
        env.report(f"kw: {problem}")
    if not settings.quiet:
        for line in _format_report_lines(settings, reading, written, check):
            env.report(f"kw: {line}")
    return Exit.FAILURE if problems else Exit.DONE


def _check_inputs_can_be_scrubbed(inputs: Captures, settings: ScrubOptions) -> None:
    if inputs.records:
        raise Failure(f"{inputs.records[0]}: records have no packets: kw scrub reads captures", Exit.USAGE)
    if not inputs.input_count:
        raise Failure(inputs.problems[0])
    if os.path.exists(settings.out) and (not os.path.isfile(settings.out) or is_path_of_open_descriptor(settings.out)):
        raise Failure(f"{settings.out}: kw reads its result again to check it: name a regular file", Exit.USAGE)
    written = list(filter(None, (settings.out, settings.names_file, settings.salt_file)))
    if len(set(map(os.path.realpath, written))) < len(written):
        raise Failure(f"{settings.out}: OUT, --names and --salt-file must be different files", Exit.USAGE)
    for each in inputs.names:
        for mine in written:
            with suppress(OSError):
                if os.path.samefile(each, mine):
                    raise Failure(f"{mine}: this is one of the captures to read: name another file", Exit.USAGE)
    refuse_overwriting(settings.out, is_scrubbed_capture, "kw scrub", force=settings.force)
    if settings.names_file is not None:
        refuse_overwriting(settings.names_file, is_names_table, "kw scrub", force=settings.force)


def _read_or_make_salt(file_name: str | None) -> bytes:
    """The salt of pseudonyms: from a file, which is made where it is missing; without a name, of this run alone."""
    made = secrets.token_bytes(_SALT_SIZE)
    if file_name is None:
        return made
    try:
        with suppress(FileExistsError), open(file_name, "xb", opener=open_private_file) as file:
            file.write(made)
            return made
        with open(file_name, "rb") as file:
            found = file.read()
    except OSError as error:
        raise Failure(f"{file_name}: {(error.strerror or str(error)).lower()}", Exit.USAGE) from None
    if len(found) < _SALT_MIN:
        raise Failure(f"{file_name}: a salt has at least {_SALT_MIN} bytes, this has {len(found)}", Exit.USAGE)
    return found


def _write_table_of_names(file_name: str, names: NameReplacer) -> None:
    """Write the table of names, one JSON object a line."""
    lines = []
    for (kind, text), made in sorted(names.replaced.items()):
        row = {"kind": kind, "name": text, "pseudonym": made}
        lines.append(orjson.dumps({each: _make_name_printable(value) for each, value in row.items()}) + b"\n")
    for before, after in sorted(names.uuids.items()):
        row = {"kind": "uuid", "name": format_uuid(before), "pseudonym": format_uuid(after)}
        lines.append(orjson.dumps(row) + b"\n")
    write_private_file(file_name, b"".join(lines))


def _make_name_printable(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _format_report_lines(
    settings: ScrubOptions, reading: FirstReading, written: Counter[str], check: ScrubbedCaptureCheck
) -> Iterator[str]:
    """The lines that say what was done."""
    counts, seen = reading.scrubber.counts, reading.counts
    kept = f" (kept: {', '.join(sorted(set(settings.keep)))})" if settings.keep else ""
    yield (
        f"{settings.out}: {count_of(written['packets'], 'packet')}, {count_of(reading.tally.count, 'exchange')}"
        " with their versions, sizes, errors, times"
    )
    yield from check.format_search_report()
    yield (
        f"replaced {count_of(len(reading.names.replaced), 'name')}{kept},"
        f" overwrote {count_of(counts['records'], 'record')} in {count_of(counts['batches'], 'batch')}"
    )
    rest = [
        (written["other"], "packet", "left out: not TCP"),
        (counts["emptied"], "compressed batch", "emptied: kw found no replacement of the same size"),
        (counts["blanked"], "compressed batch", "of Kafka's own topics overwritten: the new names did not fit"),
        (counts["overwritten"], "compressed batch", "overwritten whole: unreadable"),
        (counts["unread"], "frame", "overwritten: not readable to its end"),
        (counts["numbers"], "number", "replaced: bytes that spell text"),
        (seen["not_kafka"] + seen["one_direction"], "connection", "overwritten whole: not read as Kafka"),
        (seen["tls"], "TLS connection", "overwritten except the headers of TLS records; --keylog decrypts it"),
        (seen["decrypted"], "exchange", "decrypted and written as plaintext TCP"),
    ]
    for count, noun, what in rest:
        if count:
            yield f"{count_of(count, noun)} {what}"
