"""Views over the tables for the usual questions, as one literal table: name, meaning, the tables it needs, its SQL.

They are Spark SQL and stand on each other in this order. Latencies leave out the fetches that waited for records.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from decoders.apis.releases import HISTORY, RELEASES, spoken

_CLIENT: Final = "coalesce(nullif(client_id, ''), client_ip)"
_LATENCY: Final = "case when waited_ns is null then latency_ms end"
_COUNTS: Final = f"""
  count(*) as count, count_if(size(error_codes) > 0) as errors, count(waited_ns) as waited,
  percentile_approx({_LATENCY}, 0.5) as p50_ms, percentile_approx({_LATENCY}, 0.9) as p90_ms,
  percentile_approx({_LATENCY}, 0.99) as p99_ms, max({_LATENCY}) as max_ms,
  sum(coalesce(request_size, 0)) as request_bytes, sum(coalesce(response_size, 0)) as response_bytes"""


class View(NamedTuple):
    """One view; `of` are the tables and views without which it cannot be."""

    text: str
    of: tuple[str, ...]
    query: str


def _latency(name: str, what: str) -> str:
    return f"select {what} as {name}, {_COUNTS} from exchanges group by 1"


VIEWS: Final[dict[str, View]] = {
    "latency_by_api": View("latencies, errors and bytes of each API", ("exchanges",), _latency("api", "api")),
    "latency_by_client": View("of each client (client id, else address)", ("exchanges",), _latency("client", _CLIENT)),
    "latency_by_broker": View("of each broker", ("exchanges",), _latency("broker", "broker")),
    "latency_by_topic": View(
        *("of each topic; an exchange about several counts for each", ("exchanges",)),
        f"select topic, {_COUNTS} from exchanges lateral view outer explode(topics) as topic group by 1",
    ),
    "latency_by_minute": View("of each minute", ("exchanges",), _latency("minute", "date_trunc('minute', time)")),
    "errors_by_api": View(
        *("error codes of each API: exchanges that have one, codes", ("exchanges",)),
        """select api, error, count(distinct struct(point, client, broker, connection_began_ns, place)) as exchanges,
        count(*) as codes from exchanges lateral view explode(error_names) as error group by 1, 2""",
    ),
    "errors_by_client": View(
        *("error codes of each client", ("exchanges",)),
        f"""select {_CLIENT} as client, api, error, count(*) as codes, min(time) as first, max(time) as last
        from exchanges lateral view explode(error_names) as error group by 1, 2, 3""",
    ),
    "slowest": View(
        *("the 1,000 slowest exchanges, with their captures and packets", ("exchanges",)),
        """select latency_ms, api, api_version, client_id, client, broker, time, source_file, request_packet,
        response_packet from exchanges where waited_ns is null and latency_ms is not null
        order by latency_ms desc, time_ns limit 1000""",
    ),
    "unanswered": View(
        *("requests that nobody answered", ("exchanges",)),
        """select time, api, api_version, client_id, client, broker, closed, source_file, request_packet
        from exchanges where status = 'unanswered'""",
    ),
    "clients": View(
        *("clients: software, exchanges, bytes, first and last time", ("exchanges",)),
        f"""select {_CLIENT} as client, client_ip as address, max(client_software_name) as software,
        max(client_software_version) as software_version, count(*) as exchanges,
        sum(coalesce(request_size, 0)) as request_bytes, sum(coalesce(response_size, 0)) as response_bytes,
        min(time) as first, max(time) as last from exchanges group by 1, 2""",
    ),
    "versions": View(
        *("versions of APIs that each client uses", ("exchanges",)),
        f"""select {_CLIENT} as client, client_ip as address, max(client_software_name) as software,
        max(client_software_version) as software_version, api_key, api, api_version, count(*) as count,
        min(time) as first, max(time) as last from exchanges where api_version is not null
        group by 1, 2, api_key, api, api_version""",
    ),
    "served": View("versions that each Kafka release serves; null where it has the API no more", (), ""),
    "old_versions": View(
        *("versions in use that a release does not serve any more: where release = '4.0'", ("versions", "served")),
        """select release, v.*, served_from, served_to from versions v join served s
        on v.api_key = s.api_key and (served_from is null or v.api_version < served_from)""",
    ),
    "throttled": View(
        *("responses that had clients wait", ("exchanges",)),
        f"""select {_CLIENT} as client, api, count(*) as throttled, sum(throttle_time_ms) as sum_ms,
        max(throttle_time_ms) as max_ms from exchanges where throttle_time_ms > 0 group by 1, 2""",
    ),
    "topics": View(
        *("records and bytes produced and fetched, by topic", ("topic_partitions",)),
        """select coalesce(topic, topic_id) as topic, count(distinct partition) as partitions,
        sum(case when api = 'Produce' then records end) as produced_records,
        sum(case when api = 'Produce' then bytes end) as produced_bytes,
        sum(case when api <> 'Produce' then records end) as fetched_records,
        sum(case when api <> 'Produce' then bytes end) as fetched_bytes
        from topic_partitions group by 1""",
    ),
    "batches": View(
        *("record batches, by API, topic and codec", ("topic_partitions",)),
        """select api, coalesce(topic, topic_id) as topic, codec, sum(batches) as batches, sum(records) as records,
        sum(bytes) as bytes, sum(records) / sum(batches) as records_per_batch,
        sum(bytes) / sum(batches) as bytes_per_batch
        from topic_partitions where batches > 0 group by 1, 2, 3""",
    ),
    "partition_errors": View(
        *("errors of single partitions", ("topic_partitions",)),
        """select api, coalesce(topic, topic_id) as topic, partition, error, count(*) as count, min(time) as first,
        max(time) as last from topic_partitions where error is not null group by 1, 2, 3, 4""",
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


def query_of(name: str) -> str:
    """The SQL of a view."""
    return VIEWS[name].query or f"select * from values {_served()} as t(release, api_key, served_from, served_to)"


def _served() -> str:
    """A row for each release and API that it serves or has given up."""
    rows = []
    for at, release in enumerate(RELEASES):
        now = spoken(release)
        known = {key for earlier in RELEASES[: at + 1] for key in spoken(earlier)}
        for key in sorted(HISTORY.keys() & known):
            low, high = (str(now[key].low), str(now[key].high)) if key in now else ("cast(null as int)",) * 2
            rows.append(f"('{release}', {key}, {low}, {high})")
    return ", ".join(rows)
