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
    "decoders/wire/primitive_types.py",
    "decoders/wire/state_serialization.py",
    "decoders/schema/body_json_form.py",
    "decoders/schema/decoder_codegen.py",
    "decoders/schema/encoder_codegen.py",
    "decoders/schema/codegen_support.py",
    "decoders/schema/plan_walker.py",
    "decoders/schema/field_projection.py",
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
    "decoders/tcp/connection_and_halves.py",
    "decoders/tcp/connection_table.py",
    "decoders/tcp/reassembly.py",
    "decoders/tls/decrypt_chunks.py",
    "decoders/frames/framing.py",
    "decoders/frames/read_and_judge_headers.py",
    "decoders/embedded/structure_holders.py",
    "decoders/embedded/otlp_metrics.py",
    "decoders/exchanges/body_reader.py",
    "decoders/exchanges/segments_to_exchanges.py",
    "decoders/exchanges/exchange.py",
    "decoders/exchanges/connection_pairing.py",
    "decoders/exchanges/facts_from_earlier_exchanges.py",
    "decoders/exchanges/topic_and_node_names.py",
    "decoders/exchanges/chunks_to_exchanges.py",
    "decoders/exchanges/serialize_pairer_state.py",
    "decoders/exchanges/partitions_in_exchange.py",
    "decoders/exchanges/topic_arrays.py",
    "decoders/analysis/portraits/client_and_broker_portraits.py",
    "decoders/analysis/client_compatibility.py",
    "decoders/analysis/client_uses.py",
    "decoders/analysis/read_dimension_values.py",
    "decoders/analysis/exchange_facts.py",
    "decoders/analysis/statistics_over_time.py",
    "decoders/analysis/percentiles.py",
    "decoders/analysis/security_audit.py",
    "decoders/analysis/sequence_diagram_steps.py",
    "decoders/analysis/slowest_exchanges.py",
    "decoders/analysis/statistics.py",
    "decoders/analysis/sum_amounts_by_key.py",
    "decoders/analysis/time_slices.py",
    "decoders/analysis/portraits/topic_portraits.py",
    "decoders/analysis/advisories/attack_observations.py",
    "decoders/analysis/doctor/body_observers.py",
    "decoders/analysis/doctor/doctor.py",
    "decoders/analysis/doctor/ids_and_logins/observe_ids_and_logins.py",
    "decoders/analysis/doctor/moves/observe_partitions.py",
    "decoders/analysis/doctor/observations.py",
    "decoders/analysis/doctor/observe_odd_bytes.py",
    "decoders/analysis/doctor/observe_positions.py",
    "decoders/analysis/doctor/resent_batches.py",
    "decoders/analysis/doctor/slow_brokers.py",
    "decoders/analysis/groups/group_events.py",
    "decoders/analysis/groups/group_rows.py",
    "decoders/analysis/groups/group_histories.py",
    "decoders/analysis/groups/partition_offsets_and_lag.py",
    "decoders/analysis/groups/share_deliveries.py",
    "decoders/analysis/groups/group_timeline.py",
    "decoders/analysis/transactions/events.py",
    "decoders/analysis/transactions/held_partitions.py",
    "decoders/analysis/transactions/rows.py",
    "decoders/analysis/transactions/stable_offsets.py",
    "decoders/analysis/transactions/timeline.py",
    "decoders/analysis/transactions/transactions_fold.py",
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
    "kwcli/pipeline/tables/connection_columns.py",
    "kwcli/pipeline/tables/exchange_columns.py",
    "kwcli/pipeline/tables/table_columns.py",
    "kwcli/pipeline/tables/topic_partition_rows.py",
    "kwcli/pipeline/read/filter_and_batch_rows.py",
)
