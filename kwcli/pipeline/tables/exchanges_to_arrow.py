"""Exchanges of the library in, an Arrow table of them out: a row each, with the columns of the pipeline's tables.

An exchange may have been looked at with other needs than those of the columns, or with none. So each is read for its
columns with needs of their own, and has afterwards the views that it had before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, Literal

from decoders.exchanges.body_reader import ApiReaders
from decoders.exchanges.exchange import Exchange
from decoders.messages.build_body_json import Options
from decoders.wire.suggest_similar_words import did_you_mean
from kwcli.pip_extras import pip_command_for_extra
from kwcli.pipeline.tables.topic_partition_rows import TableNeeds

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ArrowTable", "to_arrow"]

ArrowTable = Literal["exchanges", "topic_partitions"]
_TABLES: Final = ("exchanges", "topic_partitions")
# Rows, partitions and kilobytes of bodies of one batch.
_BATCH_WEIGHT: Final = 16_384
_VIEWS: Final = ("_request_view", "_response_view", "_error_codes", "_failed", "_early")


def to_arrow(exchanges: Iterable[Exchange], *, table: ArrowTable = "exchanges", bodies: bool = False) -> pa.Table:
    """The exchanges as a table of Arrow, with the columns that `kw help tables` lists; it needs the extra `report`.

    `topic_partitions` has a row for each topic and partition that an exchange names. With `bodies`, `request_body` and
    `response_body` are JSON as `kw sniff -o ndjson` has it, secrets redacted; without them they are null. Raises
    TypeError for what is no exchange, ValueError for another table, ImportError without pyarrow.
    """
    if table not in _TABLES:
        raise ValueError(f"no table {table!r}{did_you_mean(table, _TABLES)}: exchanges have {' and '.join(_TABLES)}")
    try:
        import pyarrow as pa
    except ImportError:
        raise ImportError(f"to_arrow needs pyarrow: {pip_command_for_extra('report')}") from None

    from kwcli.pipeline.tables.arrow_schemas import SCHEMAS

    return pa.Table.from_batches(_make_batches(exchanges, table, bodies=bodies), schema=SCHEMAS[table])


def _make_batches(exchanges: Iterable[Exchange], table: ArrowTable, *, bodies: bool) -> Iterator[pa.RecordBatch]:
    from kwcli.pipeline.tables.exchange_columns import ExchangeColumns
    from kwcli.pipeline.tables.split_by_table_and_date import split_by_table

    columns = ExchangeColumns("", [""], (table,), bodies=Options(deferred=True) if bodies else None)
    readers = ApiReaders(TableNeeds((table,)))
    for exchange in exchanges:
        if not isinstance(exchange, Exchange):
            raise TypeError(f"to_arrow takes exchanges, as read_exchanges() gives them, not {type(exchange).__name__}")
        _add_exchange(columns, exchange, readers)
        if columns.weight >= _BATCH_WEIGHT:
            yield from (batch for _, batch in split_by_table(columns.take_batch(), (table,)))
    if len(columns):
        yield from (batch for _, batch in split_by_table(columns.take_batch(), (table,)))


def _add_exchange(columns: Any, exchange: Exchange, readers: ApiReaders) -> None:
    """Add the row of an exchange, which has the same views as before when this returns."""
    if exchange.record is not None:  # its views are its bodies
        columns.add_row(exchange)
        return
    before = exchange._api_reader
    views = {name: getattr(exchange, name) for name in _VIEWS} if exchange._looked else {}
    try:
        key, version = before.key, before.version
        exchange._api_reader = readers.unknown if key is None or version is None else readers.get_reader(key, version)
        exchange._looked = False
        columns.add_row(exchange)
    finally:
        exchange._api_reader, exchange._looked = before, bool(views)
        for name, view in views.items():
            setattr(exchange, name, view)
