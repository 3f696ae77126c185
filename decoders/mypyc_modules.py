"""The modules that `KW_COMPILE=1 pip install .` compiles to machine code, and the decorator that their classes need.

mypyc compiles the modules from their sources as they stand; without it they run as they are. A module belongs here when
much of the time goes into it on real traffic (`python -m tests.bench.real`), or when such a module uses one of its
classes: compiled code reads attributes of compiled classes at their place in memory, and attributes of other classes
slower than the interpreter does. Not here: schema/lazy_decoder.py, which exchanges the code of functions.

The rules for sources that are compiled: `kw help contributing`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    # mypyc knows the decorator by this name and leaves it out; a run needs no package for it.
    from mypy_extensions import mypyc_attr
else:

    def mypyc_attr(**_words):
        """A decorator that leaves a class that is not compiled as it is."""
        return lambda of: of


__all__ = ["MODULES", "mypyc_attr"]

MODULES: Final = (
    "decoders/wire/format_and_escape_text.py",
    "decoders/wire/redact_text.py",
    "decoders/wire/primitives.py",
    "decoders/schema/json_form.py",
    "decoders/schema/decoder_codegen.py",
    "decoders/schema/encoder_codegen.py",
    "decoders/schema/codegen_support.py",
    "decoders/schema/plan_walker.py",
    "decoders/schema/projection.py",
    "decoders/records/read_rows_v2.py",
    "decoders/records/read_batch_v2.py",
    "decoders/records/read_batches.py",
    "decoders/records/summarize_records.py",
    "decoders/records/records_as_json.py",
    "decoders/records/read_legacy_messages.py",
    "decoders/records/codecs/__init__.py",
    "decoders/records/codecs/gzip.py",
    "decoders/records/codecs/lz4.py",
    "decoders/records/codecs/snappy.py",
    "decoders/records/codecs/zstd.py",
    "decoders/capture/read_capture.py",
    "decoders/capture/read_pcap.py",
    "decoders/tcp/connections.py",
    "decoders/tcp/connection_table.py",
    "decoders/tcp/reassembly.py",
    "decoders/tls/decrypt_chunks.py",
    "decoders/frames/framing.py",
    "decoders/exchanges/body_reader.py",
    "decoders/exchanges/exchange.py",
    "decoders/exchanges/connection_pairing.py",
    "decoders/exchanges/pairer.py",
    "decoders/exchanges/pairer_state.py",
    "decoders/messages/build_body_json.py",
    "decoders/messages/exchange_from_json.py",
    "decoders/messages/exchange_json.py",
    "decoders/messages/exchange_serialization.py",
    "decoders/messages/internal_topic_records.py",
    "kwcli/output/facts/line_fact_functions.py",
    "kwcli/output/facts/compile_line_facts.py",
    "kwcli/output/text.py",
    "kwcli/output/json.py",
    "kwcli/output/short_texts.py",
)
