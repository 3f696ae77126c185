"""Views over the tables for the usual questions, as one literal table: name, meaning, the tables it needs, its SQL.

A view may use views before it. `kw pipeline sql` has Spark answer them and `kw sql` DuckDB, so they are written
in the SQL that both know: lists are opened by `lateral unnest`, and no function of higher order is used. Views count
what the folds of `decoders.analysis` count, and give the same numbers: a latency is sorted into a bin of their sketch
(the view `bins` has the edges), and percentiles are read from the counts of the bins. Latencies leave out the fetches
that waited for records.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from decoders.analysis.dimension_and_metric_table import PERCENTS
from decoders.analysis.percentiles import BINS_PER_E, VALUE_MAX, bin_edges, value_of_bin
from decoders.apis import KEYS
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.errors.errors_by_api import expected_error_codes
from decoders.protocol_facts.kafka_releases import HISTORY, RELEASES, api_versions_of_release

# The exchanges of captures; request logs have the same exchanges once more.
_WIRE: Final = "(select * from exchanges where source = 'wire')"
_PARTITIONS: Final = "(select * from topic_partitions where source = 'wire')"
_ADDRESS: Final = "regexp_replace(client, ':[^:]*$', '')"
_CLIENT: Final = f"coalesce(nullif(client_id, ''), {_ADDRESS})"
# An error that the protocol expects is none.
_FAILED: Final = "array_contains(error_expected, false)"
# The first element of a list has the number 0 in Spark, and 1 in DuckDB, whose types have other names too.
_FIRST: Final = "case typeof(1) when 'int' then 0 else 1 end"
# Paths tell the errors of a response apart: the index of a path is the index of its error in the other lists.
_NUMBERED: Final = f"""(
        select x.*, cast(array_position(x.error_paths, path) as int) - 1 + {_FIRST} as number
        from {_WIRE} x, lateral unnest(x.error_paths) as e(path) where {_FAILED}) as numbered"""
_ERRORS: Final = f"""(
        select numbered.*, error_names[number] as error from {_NUMBERED} where not error_expected[number]) as each"""
_EXCHANGE: Final = "point, client, broker, connection_began_ns, place"
# In the group of a topic, errors count that are about this topic, or about no topic.
_BY_TOPIC: Final = f"""(
        with named as (select x.*, topic from {_WIRE} x left join lateral unnest(x.topics) as t(topic) on true),
        failing as (
          select distinct {_EXCHANGE}, error_topics[number] as about from {_NUMBERED} where not error_expected[number])
        select n.*, {_FAILED} and (n.topic is null or its.place is not null or whole.place is not null) as failing
        from named n {{about_it}} {{about_none}}) as by_topic"""


# The bytes of an exchange inside an Envelope are in the size of the Envelope already.
_SIZES: Final = ", ".join(
    f"case when envelope is null then {side}_size end as {side}_size" for side in ("request", "response")
)


class View(NamedTuple):
    """One view; `of` are the tables and views that it is made of. Its SQL names the columns in its outermost select."""

    text: str
    of: tuple[str, ...]
    query: str


def _build_exchanges_by_topic_sql() -> str:
    """The SQL of exchanges by the topics that they are about, with `failing`."""

    def join_failing(name: str, condition: str) -> str:
        same = " and ".join(f"{name}.{column} = n.{column}" for column in _EXCHANGE.split(", "))
        return f"left join failing {name} on {same} and {name}.{condition}"

    return _BY_TOPIC.format(
        about_it=join_failing("its", "about = n.topic"), about_none=join_failing("whole", "about is null")
    )


def _build_latency_sql(name: str, group_expression: str, source: str = _WIRE, failed: str = _FAILED) -> str:
    """The SQL of counts, bytes and percentiles of latency by `group_expression`, which becomes the column `name`.

    The logarithm gives the bin of a value, or by the last digit of a float the bin beside it; its edges decide. Rows
    are first counted by group and bin, then the bins of a group are added up in their order: the bin in which that
    sum reaches a share of all values is the percentile, as in `fold.percentile`.
    """
    return f"""
    with measured as (
      select {group_expression} as {name}, {failed} as failed, waited_ns, {_SIZES},
        case when waited_ns is null and envelope is null then response_ns - request_end_ns end as ns from {source}),
    placed as (
      select m.*, cast(sign(ns) as int) * case when abs(ns) < least then number - 1
        when abs(ns) >= above then number + 1 else coalesce(number, 0) end as bin
      from measured m left join bins on number = cast(ceil(ln(abs(nullif(ns, 0))) * {BINS_PER_E!r}e0) as int) + 1),
    counted as (
      select {name}, bin, count(*) as times, count_if(failed) as errors, count(waited_ns) as waited, count(ns) as its,
        min(ns) as low, max(ns) as high, sum(coalesce(request_size, 0)) as request_bytes,
        sum(coalesce(response_size, 0)) as response_bytes from placed group by 1, 2),
    summed as (
      select c.*, case when bin < 0 then -value when bin = 0 then 0 else value end as value,
        sum(its) over (partition by {name} order by bin) as seen, sum(its) over (partition by {name}) as total
      from counted c left join bins on number = abs(bin))
    select {name}, sum(times) as count, sum(errors) as errors, sum(waited) as waited,
      {", ".join(f"{_build_percentile_sql(percent)} as p{percent}_ms" for percent in PERCENTS)},
      max(high) / 1e6 as max_ms,
      sum(request_bytes) as request_bytes, sum(response_bytes) as response_bytes
    from summed group by {name}"""


def _build_percentile_sql(percent: int) -> str:
    reached = f"min(case when seen * 100 >= total * {percent} then value end)"
    return f"""case when max(total) * {100 - percent} < 100 then max(high)
      else greatest(min(low), least(max(high), {reached})) end / 1e6"""


_TIMED: Final = ("exchanges", "bins")
# The columns of the view of versions.
_VERSIONS: Final = (
    *("client_id", "client_ip", "client_software_name", "client_software_version", "api_key", "api", "api_version"),
    *("count", "first", "last"),
)
# A request on the wire and in the log of its broker: the same connection, correlation id and API, at the nearest time.
# Of several equally near ones it is the first. Each row of either side is in one pair at most.
_APART_NS: Final = 5_000_000_000
_JOINED: Final = f"""
    with pairs as (
      select w.time, w.time_ns, w.client, w.broker, w.client_id, w.api, w.api_version, w.correlation_id, w.status,
        w.latency_ms as wire_ms, l.latency_ms as log_ms, l.server_request_queue_ms as request_queue_ms,
        l.server_local_ms as local_ms, l.server_remote_ms as remote_ms, l.server_throttle_ms as throttle_ms,
        l.server_response_queue_ms as response_queue_ms, l.server_send_ms as send_ms,
        l.time_ns - w.time_ns as apart_ns, w.point, w.source_file, w.request_packet, l.source_file as log_file,
        l.place as log_place,
        row_number() over (partition by w.point, w.client, w.broker, w.connection_began_ns, w.place, w.time_ns
          order by abs(l.time_ns - w.time_ns), l.time_ns, l.source_file, l.place) as nearest,
        row_number() over (partition by l.source_file, l.place, w.point
          order by abs(l.time_ns - w.time_ns), w.time_ns, w.connection_began_ns, w.place) as nearest_back
      from {_WIRE} w join exchanges l on l.source = 'log' and w.client = l.client and w.broker = l.broker
        and w.correlation_id = l.correlation_id and w.api_key = l.api_key
        and l.time_ns - w.time_ns between -{_APART_NS} and {_APART_NS})
    select time, client, broker, client_id, api, api_version, correlation_id, status, wire_ms, log_ms,
      wire_ms - log_ms as network_ms, request_queue_ms, local_ms, remote_ms, throttle_ms, response_queue_ms, send_ms,
      apart_ns / 1e6 as apart_ms, point, source_file, request_packet, log_file, log_place
    from pairs where nearest = 1 and nearest_back = 1"""

VIEWS: Final[dict[str, View]] = {
    "bins": View("bins of latencies in ns: least, the least above it, the value that stands for all", (), ""),
    "latency_by_api": View("latencies, errors and bytes of each API", _TIMED, _build_latency_sql("api", "api")),
    "latency_by_client": View(
        "latencies, errors and bytes of each client (client id, else address)",
        _TIMED,
        _build_latency_sql("client_id", _CLIENT),
    ),
    "latency_by_broker": View(
        "latencies, errors and bytes of each broker", _TIMED, _build_latency_sql("broker", "broker")
    ),
    "latency_by_topic": View(
        *("latencies, errors and bytes of each topic; an exchange about several counts for each", _TIMED),
        _build_latency_sql("topic", "topic", _build_exchanges_by_topic_sql(), "failing"),
    ),
    "latency_by_minute": View(
        "latencies, errors and bytes of each minute", _TIMED, _build_latency_sql("minute", "date_trunc('minute', time)")
    ),
    "errors_by_api": View(
        *("error codes of each API: how many exchanges have one, how often it is in them", ("exchanges",)),
        f"""select api, error, count(distinct ({_EXCHANGE})) as exchanges, count(*) as codes from {_ERRORS}
        group by 1, 2""",
    ),
    "errors_by_client": View(
        *("error codes of each client", ("exchanges",)),
        f"""select {_CLIENT} as client_id, api, error, count(*) as codes, min(time) as first, max(time) as last
        from {_ERRORS} group by 1, 2, 3""",
    ),
    "slowest": View(
        *("the 1,000 slowest exchanges, with their captures and packets", ("exchanges",)),
        f"""select latency_ms, api, api_version, client_id, client, broker, time, source_file, request_packet,
        response_packet from {_WIRE} where waited_ns is null and envelope is null and latency_ms is not null
        order by latency_ms desc, client, broker, connection_began_ns, place, time_ns limit 1000""",
    ),
    "unanswered": View(
        *("requests that nobody answered", ("exchanges",)),
        f"""select time, api, api_version, client_id, client, broker, closed, source_file, request_packet
        from {_WIRE} where status = 'unanswered'""",
    ),
    "clients": View(
        *("clients: software, exchanges, bytes, first and last time", ("exchanges",)),
        f"""
    with asked as (
      select {_CLIENT} as client, client_ip as address, client_software_name as software,
        client_software_version as software_version, {_SIZES}, time
      from {_WIRE} where api_key is not null),
    named as (
      select *, min(software) over who as least, max(software) over who as most,
        min(software_version) over who as oldest, max(software_version) over who as newest
      from asked window who as (partition by client, address)),
    known as (
      select *, coalesce(software, case when least = most and oldest = newest then least end) as program,
        case when software is null and least = most and oldest = newest then oldest
          else software_version end as program_version from named)
    select client as client_id, address as client_ip, program as client_software_name,
      program_version as client_software_version, count(*) as count,
      sum(coalesce(request_size, 0)) as request_bytes,
      sum(coalesce(response_size, 0)) as response_bytes, min(time) as first, max(time) as last
    from known group by client, address, program, program_version""",
    ),
    "versions": View(
        *("versions of APIs that each client uses", ("exchanges",)),
        f"""select {_CLIENT} as {_VERSIONS[0]}, {", ".join(_VERSIONS[1:7])},
        count(*) as count, min(time) as first, max(time) as last from {_WIRE}
        where api_version is not null group by 1, 2, 3, 4, 5, 6, 7""",
    ),
    "served": View("versions that each Kafka release serves; null where it has the API no more", (), ""),
    "old_versions": View(
        *("versions in use that a release does not serve any more: where release = '4.0'", ("versions", "served")),
        f"""select release, {", ".join(f"v.{column}" for column in _VERSIONS)}, served_from, served_to
        from versions v join served s
        on v.api_key = s.api_key and (served_from is null or v.api_version < served_from)""",
    ),
    "throttled": View(
        *("responses that had clients wait", ("exchanges",)),
        f"""select {_CLIENT} as client_id, api, count(*) as throttled, sum(throttle_time_ms) as sum_ms,
        max(throttle_time_ms) as max_ms from {_WIRE} where throttle_time_ms > 0 group by 1, 2""",
    ),
    "topics": View(
        *("records and bytes produced and fetched, by topic", ("topic_partitions",)),
        f"""select coalesce(topic, topic_id) as topic, count(distinct partition) as partitions,
        sum(case when api = 'Produce' then records else 0 end) as produced_records,
        sum(case when api = 'Produce' then bytes else 0 end) as produced_bytes,
        sum(case when api <> 'Produce' then records else 0 end) as fetched_records,
        sum(case when api <> 'Produce' then bytes else 0 end) as fetched_bytes
        from {_PARTITIONS} group by 1""",
    ),
    "batches": View(
        *("record batches, by API, topic and codec", ("topic_partitions",)),
        f"""select api, coalesce(topic, topic_id) as topic, codec, sum(batches) as batches, sum(records) as records,
        sum(bytes) as bytes, sum(records) / sum(batches) as records_per_batch,
        sum(bytes) / sum(batches) as bytes_per_batch
        from {_PARTITIONS} where batches > 0 group by 1, 2, 3""",
    ),
    "partition_errors": View("errors of single partitions", ("topic_partitions",), ""),  # made when it is asked for
    "joined": View(
        "requests on the wire with what their broker's request log says: network_ms, queues, local and remote time",
        ("exchanges",),
        _JOINED,
    ),
    "not_kafka": View(
        *("connections of something else", ("connections",)),
        """select broker, reason, detail, count(*) as connections, min(time) as first, max(time) as last
        from connections where not kafka group by 1, 2, 3""",
    ),
    "lossy_connections": View(
        *("connections with gaps or with segments sent again", ("connections",)),
        """select client, broker, client_id, time, client_gaps + server_gaps as gaps,
        client_missing + server_missing as missing_bytes,
        client_retransmissions + server_retransmissions as retransmissions, closed from connections
        where client_gaps + server_gaps + client_retransmissions + server_retransmissions > 0""",
    ),
}


def build_view_sql(name: str) -> str:
    """The SQL of a view."""
    return VIEWS[name].query or _MADE[name]()


def list_columns_of_view(name: str) -> tuple[str, ...]:
    """The names of a view's columns, in their order: what a query may name, known before an engine has started."""
    outermost, inside = build_view_sql(name), 1
    while inside:
        outermost, inside = re.subn(r"\([^()]*\)", "", outermost)
    names = re.split(r"\bselect\b|\bfrom\b", outermost)[1].split(",")
    return tuple(name.split()[-1].rpartition(".")[2] for name in names)


def _build_partition_errors_sql() -> str:
    """The SQL of the errors of partitions; it asks every declaration which errors the protocol expects."""
    expected = " or ".join(
        f"(api_key = {key} and error_code = {code})" for key in KEYS for code in sorted(expected_error_codes(key))
    )
    return f"""select api, coalesce(topic, topic_id) as topic, partition, error, count(*) as count, min(time) as first,
        max(time) as last from {_PARTITIONS} where error is not null and not ({expected}) group by 1, 2, 3, 4"""


def _build_bins_sql() -> str:
    """The SQL of a row for each bin of positive values; the bins of negative values mirror them."""
    rows = (
        f"({number}, {least}, {above}, {min(value_of_bin(number), VALUE_MAX)})"
        for number, (least, above) in enumerate(pairwise((*bin_edges(), "null")), 1)
    )
    columns = "number, least, above, value"
    return f"select {columns} from (values {', '.join(rows)}) as t({columns})"


def _build_versions_served_sql() -> str:
    """The SQL of a row for each release and API that it serves or has given up."""
    rows = []
    for at, release in enumerate(RELEASES):
        now = api_versions_of_release(release)
        known = {key for earlier in RELEASES[: at + 1] for key in api_versions_of_release(earlier)}
        for key in sorted(HISTORY.keys() & known):
            low, high = (str(now[key].low), str(now[key].high)) if key in now else ("cast(null as int)",) * 2
            rows.append(f"('{release}', {key}, {low}, {high})")
    columns = "release, api_key, served_from, served_to"
    return f"select {columns} from (values {', '.join(rows)}) as t({columns})"


_MADE: Final = {
    "bins": _build_bins_sql,
    "partition_errors": _build_partition_errors_sql,
    "served": _build_versions_served_sql,
}
