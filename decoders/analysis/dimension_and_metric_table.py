"""The dimensions and the metrics of `kw stats`, one row each; all that shows or reads them is made of these tables.

A new dimension or metric is a row here: options and completion, columns and notes of the text, `--sort`, filter fields,
the published schema and the pages of the handbook follow. No module that reads traffic is loaded for the tables alone,
so what a row cannot compute of the attributes of an exchange is the name of a function (read_dimension_values.py), or
loaded when it is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.time_slices import Join, add_amounts
from decoders.named_tuple import NamedTuple

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.api_declaration import Side

__all__ = ["DIMENSION_ROWS", "METRICS", "PERCENTS", "DimensionRow", "Metric"]

# The percentiles that rows have.
PERCENTS: Final = (50, 90, 95, 99)
Measure = Callable[["Exchange"], int | None]


class DimensionRow(NamedTuple):
    """A dimension. `get` gives one value, or if `several`, a list of values, each of which the exchange counts for.

    `get` may be the name of a function in read_dimension_values.py. `entity`: the entity type that the declarations
    give to the names that it reads of bodies. `is_number`: values are integers, else texts. `spellings`: other words
    for it. `of_values`: `get` is given each decoded key or value of an exchange instead, with whether it is a key.
    `of_records`: it goes with metrics of records too.
    """

    get: Callable[..., Any] | str
    text: str
    several: bool = False
    entity: str = ""
    is_number: bool = False
    spellings: str = ""
    of_values: bool = False
    of_records: bool = False


DIMENSION_ROWS: Final[dict[str, DimensionRow]] = {
    "api": DimensionRow(lambda x: x._api_reader.name, "name of the API", spellings="apis"),
    "version": DimensionRow(lambda x: x.api_version, "version of the request", is_number=True, spellings="api_version"),
    "client": DimensionRow(
        "read_client_name",
        "client id, or where there is none the client's address",
        spellings="clients",
        of_records=True,
    ),
    "client_id": DimensionRow(lambda x: x.client_id, "client id", of_records=True),
    "address": DimensionRow(
        "read_client_host", "the client's address, without the port", spellings="host", of_records=True
    ),
    "software": DimensionRow("read_software", "name and version of the client's library", spellings="client_software"),
    "library": DimensionRow("read_library", "library that a client shows to be by what it does"),
    "user": DimensionRow(
        lambda x: x.user,
        "user who had logged in, or the subject of the client's certificate",
        spellings="users principal",
    ),
    "mechanism": DimensionRow(lambda x: x.mechanism, "SASL mechanism of the login", spellings="sasl_mechanism"),
    "broker": DimensionRow(
        lambda x: x.connection_info.broker, "address of the broker", spellings="brokers", of_records=True
    ),
    "connection": DimensionRow("read_connection_addresses", "the two addresses with their ports"),
    "topic": DimensionRow(
        "read_topics",
        "each topic in request or response",
        several=True,
        entity="topicName",
        spellings="topics",
        of_records=True,
    ),
    "partition": DimensionRow(
        "read_partitions",
        "each partition in request or response, with its topic",
        several=True,
        is_number=True,
        spellings="partitions",
        of_records=True,
    ),
    "group": DimensionRow(
        "read_groups", "consumer group", several=True, entity="groupId", spellings="groups", of_records=True
    ),
    "error": DimensionRow(
        "read_error_names", "each error code in the response that counts as one", several=True, spellings="errors"
    ),
    "schema_id": DimensionRow(
        lambda found, _: found.schema_id and str(found.schema_id),
        "id of the schema that a key or value of a record names",
        several=True,
        of_values=True,
    ),
    "value_format": DimensionRow(
        lambda found, is_key: None if is_key else found.format,
        "form of the value of a record, where it is known",
        several=True,
        of_values=True,
    ),
    "file": DimensionRow(
        lambda x: x.extra and x.extra.get("file"), "the capture that it was read from", spellings="files"
    ),
    "point": DimensionRow(
        lambda x: x.extra and x.extra.get("point"), "the place that it was captured at, live", spellings="points"
    ),
    "client_name": DimensionRow(
        lambda x: x.extra and x.extra.get("client_name"), "name of the client's address, by --hosts"
    ),
    "broker_name": DimensionRow(
        lambda x: x.extra and x.extra.get("broker_name"), "name of the broker's address, by --hosts"
    ),
    "time": DimensionRow(
        lambda x: x.time_ns, "time bucket of the request's first byte", spellings="bucket", of_records=True
    ),
}


def need_no_paths(_api_key: int, _side: Side) -> frozenset[str]:
    """No paths: the metric reads no body."""
    return frozenset()


class Metric(NamedTuple):
    """A metric. `measure` gives the value of an exchange; None where it has none.

    `per_unit`: how many measured units make one `unit`. `needs`: the paths that `measure` reads of a side of an API.
    `join`: how the values of a time slice become one. `sort`: its most important column. `silent`: what groups without
    a value are called, where the text leaves them out. `columns`: those of the text (TEXT_COLUMNS in
    kwcli/stats/statistics_as_text.py), `NAME/N` with another order of leaving out. `own`: those of its rows alone.
    `field`: the filter field with its values, its own name where empty; where filters have none, it is made.
    `of_records`: its values are of records, not of exchanges: RecordAges in record_traces/record_ages.py counts them,
    by dimensions `of_records`, and filters have no field for it.
    """

    text: str
    unit: str
    per_unit: int
    measure: Measure
    needs: Callable[[int, Side], frozenset[str]] = need_no_paths
    join: Join = max
    sort: str = "p99"
    silent: str = ""
    columns: str = "count rate percentiles total/6 min errors"
    own: tuple[str, ...] = ()
    field: str = ""
    of_records: bool = False


def measure_latency_ns(exchange: Exchange) -> int | None:
    """Request's last byte to response's first; None for an exchange inside an Envelope, whose latency is that."""
    if exchange.response_ns is None or exchange.request_end_ns is None or exchange.envelope:
        return None
    return exchange.response_ns - exchange.request_end_ns


def _measure_bytes(exchange: Exchange) -> int:
    return 0 if exchange.envelope else (exchange.request_size or 0) + (exchange.response_size or 0)


def _measure_throttle_ns(exchange: Exchange) -> int | None:
    from decoders.analysis.exchange_facts import throttle_ns

    return throttle_ns(exchange) or None


def _paths_of_throttle(api_key: int, side: Side) -> frozenset[str]:
    from decoders.analysis.exchange_facts import throttle_paths

    return throttle_paths(api_key, side)


def _paths_of_records(api_key: int, side: Side) -> frozenset[str]:
    from decoders.analysis.exchange_facts import RECORDS

    return RECORDS.needed_paths(api_key, side)


def _measure_nothing(_exchange: Exchange) -> None:
    """No value of an exchange: `Statistics` counts error codes and records itself, `RecordAges` the ages of records."""


def _make_broker_time_metric(key: str, text: str) -> Metric:
    """The metric of a time that the broker's own request log has, under `key`."""

    def measure_broker_time_ns(exchange: Exchange) -> int | None:
        said = exchange.extra.get("server") if exchange.extra is not None else None
        took = None if said is None else said.get(key)
        return None if took is None else round(took * 1e6)

    return Metric(text, "ms", 10**6, measure_broker_time_ns, silent="without a broker's times", field=f"server.{key}")


def _make_age_metric(text: str) -> Metric:
    """The metric of an age of records."""
    return Metric(text, "ms", 10**6, _measure_nothing, columns="count percentiles min", of_records=True)


METRICS: Final[dict[str, Metric]] = {
    "latency": Metric(
        "request's last byte to response's first",
        "ms",
        10**6,
        measure_latency_ns,
        columns="count rate errors waited percentiles min bytes sent got unanswered undecoded",
        own=("waited", "waited_ms"),
    ),
    "bytes": Metric(
        "bytes of request and response",
        "bytes",
        1,
        _measure_bytes,
        join=add_amounts,
        sort="sum",
        columns="count rate total/1 per_second percentiles sent got min",
        field="size",
    ),
    "errors": Metric(
        "error codes in responses that have any",
        "codes",
        1,
        _measure_nothing,
        join=add_amounts,
        sort="errors",
        silent="without errors",
        columns="count rate errors share_of_errors codes unanswered/5 undecoded",
        field="unexpected",
    ),
    "records": Metric(
        "records produced or fetched",
        "records",
        1,
        _measure_nothing,
        _paths_of_records,
        join=add_amounts,
        sort="sum",
        silent="without records",
        columns="count records per_second/5 record_bytes batches records_per_batch bytes_per_record percentiles/10",
        own=("batches", "record_bytes"),
    ),
    "throttle": Metric(
        "throttle time of responses that have one",
        "ms",
        10**6,
        _measure_throttle_ns,
        _paths_of_throttle,
        sort="sum",
        silent="without throttling",
        columns="count rate throttled share_throttled total percentiles errors",
    ),
    "total": _make_broker_time_metric("total_ms", "time in the broker, by its request log"),
    "queue": _make_broker_time_metric("request_queue_ms", "time in the broker's request queue"),
    "local": _make_broker_time_metric("local_ms", "time at the leader"),
    "remote": _make_broker_time_metric("remote_ms", "time of waiting for others, such as followers"),
    "response_queue": _make_broker_time_metric("response_queue_ms", "time in the broker's response queue"),
    "send": _make_broker_time_metric("send_ms", "time of sending the response"),
    "age": _make_age_metric(
        "age of records when a group read them first: from their Produce to the answer to its Fetch"
    ),
    "commit-age": _make_age_metric("age of records when a group committed an offset beyond them first"),
}
