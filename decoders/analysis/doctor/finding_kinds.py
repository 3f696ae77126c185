"""The kinds of findings: how bad each is, its title, what it means and what to do. A literal table.

`{…}` in a title are values of the finding. A finding about an error code that has no meaning or remedy here takes it
from the tables of error codes. `went_on` is the severity where the same client later succeeded with the same thing.
"""

from __future__ import annotations

from typing import Final, Literal

from decoders.named_tuple import NamedTuple

__all__ = ["CODES", "FINDINGS", "OTHER", "SEVERITIES", "STORAGE_ERRORS", "FindingKind", "Severity"]

Severity = Literal["error", "warning", "note"]
SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "note")


class FindingKind(NamedTuple):
    """One kind of finding: a row of the table."""

    severity: Severity
    title: str
    meaning: str = ""
    remedy: str = ""
    went_on: Severity = "note"


_ERROR: Final = "error"
_WARNING: Final = "warning"
_NOTE: Final = "note"

FINDINGS: Final[dict[str, FindingKind]] = {
    # The capture itself. The sentence of the fault is both title and remedy.
    "capture": FindingKind(_WARNING, "{fault}", "findings miss whatever the capture lacks"),
    "capture-begins-late": FindingKind(
        _NOTE, "{fault}", "findings about a client may miss what it did before the capture began"
    ),
    "left-out": FindingKind(
        _NOTE,
        "the traffic has more clients, topics or partitions than kw keeps track of",
        "findings about the ones that appeared last may be missing",
        "look at a part of the traffic: --client-id, --topic, --since",
    ),
    # Who reaches whom.
    "advertised-wildcard": FindingKind(
        _ERROR,
        "node {node_id} advertises {address}, to which no client can connect",
        "clients connect to the address that a broker advertises; a wildcard means their own machine, or nothing",
        "set advertised.listeners to a name or address that clients reach",
    ),
    "advertised-loopback": FindingKind(
        _ERROR,
        "node {node_id} advertises {address} to clients on other machines",
        "these clients will look for the broker on their own machine",
        "set advertised.listeners to a name or address that clients reach; give each network a listener of its own",
    ),
    "advertised-elsewhere": FindingKind(
        _NOTE,
        "node {node_id} answers at {broker} and advertises {address}, to which nobody connected",
        "where a port is forwarded or mapped, or a name is not known to clients, they reach {broker} and get no further"
        " than its first answers",
        "compare advertised.listeners with the addresses that clients use; have clients resolve its names",
    ),
    "version-refused": FindingKind(
        _ERROR,
        "{api} {api_version} of {client} is not served by {broker}{pace}",
        "the broker serves {offered}; at other versions it closes the connection, or answers UNSUPPORTED_VERSION",
        "upgrade the client, or run kw audit, which lists the clients that a release no longer serves",
    ),
    "request-closed": FindingKind(
        _ERROR,
        "{broker} closes the connection on {api} {api_version} of {client}: {fault}{tally}",
        "a request that a broker cannot read ends its connection; {likely}",
        "correct the code that writes this request, or upgrade the client; kw sniff -o hex shows its bytes",
    ),
    "request-odd": FindingKind(
        _NOTE,
        "{api} {api_version} of {client} has {fault}; {broker} did not close the connection",
        "other brokers, and later releases of this one, may close the connection on it; {likely}",
        "correct the code that writes this request, or upgrade the client; kw sniff -o hex shows its bytes",
    ),
    "answer-odd": FindingKind(
        _WARNING,
        "{broker} answers {api} {api_version} of {client} with {fault}",
        "clients that read by the definition fail on this answer; {likely}",
        "look at what answers there: a proxy, or a broker that is not Kafka's own; kw sniff -o hex shows the bytes",
    ),
    "answers-misplaced": FindingKind(
        _ERROR,
        "{broker} {fault}",
        "brokers answer in the order of the requests, each once: clients close the connection on any other answer"
        " (Java: IllegalStateException; Sarama, kafka-python: an error of correlation ids)",
        "look at what answers there: a proxy that joins connections, or a broker that is not Kafka's own",
    ),
    "tls-to-plaintext": FindingKind(
        _ERROR,
        "{host} speaks TLS to {broker}{which}: {tally}",
        "a listener without TLS takes the hello for a request of an absurd size and closes; no key log would help",
        "set security.protocol to PLAINTEXT or SASL_PLAINTEXT, or use the port of a listener with TLS",
    ),
    "plaintext-to-tls": FindingKind(
        _ERROR,
        "{host} speaks plaintext to {broker}, which speaks TLS: {tally}",
        "a listener with TLS takes the request for a broken hello and closes",
        "set security.protocol to SSL or SASL_SSL, or use the port of a listener without TLS",
    ),
    "request-too-large": FindingKind(
        _ERROR,
        "{broker} closes the connection on {api} of {client} from {size} on{tally}",
        "the request is larger than socket.request.max.bytes of the broker (100 MiB by default), which closes without"
        " an answer; the client sends it again",
        "lower max.request.size and batch.size of the client, or raise socket.request.max.bytes",
    ),
    "tls-refused": FindingKind(
        _ERROR,
        "{who} breaks off the TLS handshake with {other} ({alert}){why}: {tally}",
        "no request is ever sent on such a connection{expired}",
        "{remedy}",
    ),
    "not-kafka": FindingKind(
        _WARNING,
        "{host} sends {spoken} to {broker}, which speaks Kafka: {tally}",
        "a broker takes the first bytes for the size of a request; it closes, or waits for the rest",
        "find the program (a health check, a scraper, a client with a fault) and give it the right address;"
        " kw sniff -v shows the first bytes, kw decode --explain says what they are",
    ),
    "versions-closed": FindingKind(
        _ERROR,
        "{broker} closes the connection on ApiVersions {api_version} of {client}{tally}",
        "a broker that does not know this version, or comes before 0.10, closes instead of answering",
        "upgrade the broker, or have the client ask with an older version (librdkafka: api.version.request,"
        " broker.version.fallback)",
    ),
    "login-missing": FindingKind(
        _ERROR,
        "{broker} closes the connection on the first request of {client} after ApiVersions ({apis}){tally}",
        "the listener wants a login before any other request: the client sends none",
        "set security.protocol to SASL_PLAINTEXT or SASL_SSL, sasl.mechanism and credentials, or use another listener",
    ),
    "login-expired": FindingKind(
        _WARNING,
        "{client} does not log in again: {broker} closes {connections} of its connections {lifetime} after the login",
        "the broker ends a session after connections.max.reauth.ms (session_lifetime_ms in its answer, KIP-368), and"
        " closes the connection on the next request",
        "upgrade the client to one that logs in again by itself, or raise connections.max.reauth.ms",
    ),
    "login-failed": FindingKind(
        _ERROR, "logins of {client}{by_user} fail with {error}{pace}{changed}", remedy="{remedy}", went_on=_WARNING
    ),
    "access-denied": FindingKind(_ERROR, "{subject} is denied to {clients}: {error}{by_user}", went_on=_WARNING),
    "unanswered": FindingKind(
        _WARNING,
        "{api} of {client} stays unanswered by {broker}; the connection ended ({closed}){then}",
        "the client gave up (request.timeout.ms), the broker went away, or something between them cut the connection",
        "look at the broker's load and log at that time, and at firewalls and idle time-outs between the two",
    ),
    "connection-churn": FindingKind(
        _WARNING,
        "{client} opens {rate} connections a second, each for {exchanges} exchanges",
        "each new connection costs round trips, a TLS handshake, a login and time of a broker thread",
        "create one client object for the life of the program, not one for each request",
    ),
    "retransmissions": FindingKind(
        _WARNING,
        "{share} of the exchanges between {host} and {broker} needed retransmissions",
        "packets get lost between the two: each loss can stop a connection for 200 ms or more",
        "look at the link, its switches and the buffers of both machines",
    ),
    "idle-cut": FindingKind(
        _WARNING,
        "{cuts} connections of {client} to {broker} were reset from the {whose} side after {idle} of silence",
        "brokers and clients end idle connections with FIN; a reset without one is a firewall, a load balancer or a NAT"
        " whose idle time-out is shorter, or a machine that crashed: the next request is lost",
        "set connections.max.idle.ms of clients below that time-out, or raise the time-out; TCP keep-alive helps too",
    ),
    "idle-dropped": FindingKind(
        _WARNING,
        "requests of {client} on {cuts} of its connections to {broker} are not acknowledged, and on new ones answered",
        "something between the two has forgotten the connections and drops their packets: a NAT, firewall or load"
        " balancer after its idle time-out",
        "set connections.max.idle.ms of clients below that time-out, or raise the time-out; TCP keep-alive helps too",
    ),
    "zero-window": FindingKind(
        _WARNING,
        "{who} took nothing from {other} for {total} at least: its TCP window was 0",
        "its receive buffer was full because its program did not read: stopped, collecting garbage or overloaded",
        "look at the CPU, pauses and request queue of that side at the time; the network is not to blame",
    ),
    "proxy-head-refused": FindingKind(
        _ERROR,
        "{via} puts a PROXY head before the stream, and {broker} closes the connection without an answer",
        "a broker takes the head for the size of a frame and closes: Kafka itself reads no PROXY protocol",
        "turn the PROXY protocol off at the load balancer, or put something before the broker that takes it",
    ),
    "no-connection": FindingKind(
        _WARNING,
        "{host} cannot connect to {whom}: {how}",
        "clients that get this address from Metadata get no further than their bootstrap broker",
        "start the broker, or correct advertised.listeners, routes and firewalls between the two",
    ),
    # What only a look at the cluster itself (-b) shows.
    "unreachable": FindingKind(
        _ERROR,
        "{whom} cannot be reached from here: {why}",
        "clients that get this address from Metadata cannot use the partitions that this broker leads",
        "start it, or correct advertised.listeners, DNS, routes and firewalls; --dial-map dials another address",
    ),
    "not-looked-at": FindingKind(
        _NOTE, "{brokers} were not examined: time was up", "findings about them are missing", "give a longer --timeout"
    ),
    "releases-differ": FindingKind(
        _WARNING,
        "brokers look like different releases: {releases}",
        "an upgrade is under way, or one broker was left out of it",
        "finish the upgrade, then raise the features (metadata.version)",
    ),
    "feature-behind": FindingKind(
        _NOTE,
        "{feature} is at level {level}, all brokers support {most}",
        "newer functions stay off until the level is raised; brokers cannot be downgraded below it afterwards",
        "run kafka-features upgrade --release-version once all brokers run well with the new release",
    ),
    "controller-silent": FindingKind(
        _ERROR,
        "{broker} gets no answer from the controller: {why}",
        "topics cannot be made or changed, and leaders are not elected, while there is no active controller",
        "look at the controllers: more than half of them have to be up and reach each other",
    ),
    "controller-clock": FindingKind(
        _WARNING,
        "the clock of the controller (node {node_id}) and that of this machine are {apart} apart",
        "timestamps and time-outs of the two do not match, nor do their logs",
        "synchronise the clocks (NTP)",
    ),
    # Topics, partitions, replicas.
    "broker-gone": FindingKind(
        _ERROR,
        "node {node_id}{at} is gone{since}: brokers no longer list it{places}",
        "it stopped, was cut off or fenced: what it led has other leaders or none, and its replicas fall out of sync",
        "start it, or look in its log and the controller's for why its sessions ended",
    ),
    "broker-back": FindingKind(
        _WARNING,
        "node {node_id}{at} was gone{since}{until}{places}",
        "it restarted, or was cut off or fenced for a while; clients had to find other leaders",
        "look in its log and the controller's at that time; a planned restart takes a minute and no client notices",
    ),
    "broker-down": FindingKind(
        _ERROR,
        "{who} went away: it refuses connections and answers nothing any more",
        "its process ended; what it led has no leader until another node is elected, and writes with acks=all wait for"
        " its replicas until they count as out of sync",
        "start it, and look in its log and its machine's for why it ended",
    ),
    "broker-silent": FindingKind(
        _ERROR,
        "{who} answered nobody for {span}, while requests of {waiting} waited for it",
        "its process stood still (stopped, collecting garbage, waiting for a disk), or its network was cut off; writes"
        " with acks=all to other leaders likely wait for its replicas",
        "look at its process, disk and machine at that time; firewalls and clients are hardly to blame",
        went_on=_WARNING,
    ),
    "requests-pending": FindingKind(
        _WARNING,
        "{api} of {client}{place} still waits for {broker} at the end of the capture, after {waited}",
        "{why}",
        "look at the broker's log, and at the brokers that it waits for",
    ),
    "topic-unknown": FindingKind(_ERROR, "topic {topic} does not exist{nearest}{deleted}", "{meaning}", "{remedy}"),
    "partition-offline": FindingKind(
        _ERROR,
        "{places} without a leader",
        "nothing can be written to or read from such a partition",
        "bring the brokers of its replicas back; unclean elections lose records",
        went_on=_NOTE,
    ),
    "under-replicated": FindingKind(
        _WARNING,
        "{places} with too few replicas in sync{replicas}",
        "one more failure may stop writing (min.insync.replicas) or lose the partition",
        "bring these brokers back, or find out why they lag behind (disk, network, num.replica.fetchers)",
        went_on=_NOTE,
    ),
    "isr-flapping": FindingKind(
        _WARNING,
        "replicas of {places} fall out of sync and come back: {changes} changes",
        "followers are behind for more than replica.lag.time.max.ms, again and again; acks=all waits or fails then",
        "look at disk, garbage collection and network of the brokers that fall out (AlterPartition requests name them)",
    ),
    "isr-shrunk": FindingKind(
        _WARNING,
        "{places}: replicas fell out of sync and had not come back at the end",
        "one more failure may stop writing (min.insync.replicas) or lose the partition",
        "bring these brokers back, or find out why they lag behind (disk, network, num.replica.fetchers)",
    ),
    "follower-behind": FindingKind(
        _WARNING,
        "node {node_id} is up to {behind} records behind the in-sync replicas of {places}",
        "it is out of sync until it has caught up: the partition has one copy less",
        "a broker that restarted catches up; else look at its disk and network, and at num.replica.fetchers",
    ),
    "leaders-move": FindingKind(
        _WARNING,
        "the leaders of {topic} moved {moves} times ({parts} partitions)",
        "clients of a partition stop until they know its new leader; brokers or their sessions come and go",
        "look in the controller's log for why brokers were fenced; check session time-outs and garbage collection",
    ),
    "leader-missing": FindingKind(_ERROR, "{subject}: {error}{by}"),
    "leader-moved": FindingKind(_WARNING, "{subject}: {error}{by}"),
    "replicas-missing": FindingKind(_ERROR, "writes to {subject} fail with {error}", went_on=_WARNING),
    "offset-out-of-range": FindingKind(_WARNING, "{subject}: {error}{by}{reset}", went_on=_WARNING),
    "commit-lost": FindingKind(
        _WARNING,
        "group {group} had committed offset {offset} of {places}, and has none any more",
        "{why}: its members begin where auto.offset.reset says, and read records again or leave some out",
        "set the group's offsets (kafka-consumer-groups --reset-offsets); raise offsets.retention.minutes for groups"
        " that are away for days",
    ),
    "assigned-unread": FindingKind(
        _WARNING,
        "{client} in group {group} has {places} and asked for no record of it in {time}, while it reads others",
        "its lag grows, and no other member takes it over: the partition is paused, or stuck in the client",
        "look for pause() without resume() in the program, and in its log for errors about this partition",
    ),
    "start-repeated": FindingKind(
        _WARNING,
        "{client} in group {group} began {times} times at {place} offset {offset}, and committed nothing behind it",
        "likely that record, or one soon behind it, ends its program each time, and nothing behind it is handled",
        "look into the program's log, and at the record (kw trace CAPTURE {record}); let it pass over such records",
    ),
    "election": FindingKind(
        _WARNING,
        "controllers elect a leader ({nodes} ask for votes)",
        "the quorum lost its leader: until a new one is elected nothing can be changed in the cluster",
        "look at the controllers' load, disks and network at that time",
    ),
    "controller-moved": FindingKind(_WARNING, "{subject}: {error}{by}"),
    "broker-failed": FindingKind(_ERROR, "{broker}: {error}", went_on=_WARNING),
    "slow-broker": FindingKind(
        _WARNING,
        "{broker} takes {latency} for {api}, its peers {peers} (medians)",
        "partitions that this broker leads are slower than the rest",
        "look at its disk, its garbage collection and its network; move leaders away from it",
    ),
    # Groups.
    "rebalance-storm": FindingKind(
        _WARNING,
        "group {group} rebalances again and again: {generations} generations, {members} members{cause}{waited}",
        "while a classic group rebalances, none of its members reads",
        "find out who joins and leaves, and why: time-outs (max.poll.interval.ms, session.timeout.ms), restarts,"
        " crashes; static membership (group.instance.id) and cooperative assignors make rebalances fewer and shorter",
    ),
    "heartbeats-late": FindingKind(
        _WARNING,
        "{client} in group {group} was not heard for {pause}; its session times out after {timeout}",
        "a member that is silent for longer than its session time-out is removed, and the group rebalances",
        "look at pauses of the process (garbage collection, CPU limits) and of the network; heartbeat.interval.ms is a"
        " third of session.timeout.ms or less",
    ),
    "read-again": FindingKind(
        _NOTE,
        "{client} fetched {again} of {read} offsets of {topic} a second time on the same connection",
        "records fetched earlier were thrown away: by pausing and seeking, by rebalances, or by a poll that failed",
        "do not seek back or pause for each batch; see kw groups for the share of each group",
    ),
    "fetch-sessions-lost": FindingKind(
        _WARNING,
        "{broker} has forgotten the fetch session of {client} {lost} times",
        "each time the client must name all its partitions again, and incremental fetches save nothing",
        "raise max.incremental.fetch.session.cache.slots: the cache is too small for all consumers and followers",
    ),
    "fetch-sessions-unused": FindingKind(
        _WARNING,
        "{client} opens a fetch session at {broker} with each Fetch and never uses it: {opened} sessions",
        "each one takes a place in the broker's cache (max.incremental.fetch.session.cache.slots): others lose theirs"
        " and get FETCH_SESSION_ID_NOT_FOUND (KIP-227)",
        "upgrade the client; one that does not use sessions asks with epoch -1",
    ),
    "fetch-loop": FindingKind(
        _WARNING,
        "{client} asks {broker} {rate} times a second and gets nothing at once{place}",
        "{why}: broker, network and client are busy with empty answers",
        "{remedy}",
    ),
    "busiest-client": FindingKind(
        _NOTE,
        "{client} makes {share} of all exchanges: {rate} a second",
        "what one client does hides what the others do, and takes the time of brokers",
        "look at what it does: kw stats --by api --client-id {client}",
    ),
    "poll-stopped": FindingKind(
        _WARNING,
        "{client} {what}",
        "its program did not call poll() for longer than max.poll.interval.ms{patience}, so its library left the group"
        " for it; the group rebalances, and records are handled twice",
        "find what the program waits for between two polls; raise max.poll.interval.ms or lower max.poll.records",
    ),
    "fetch-waits": FindingKind(
        _NOTE,
        "{client} gets records only after {waited}, because they are below its fetch.min.bytes: {count} fetches",
        "brokers hold an answer back until there are fetch.min.bytes of records, or fetch.max.wait.ms have passed",
        "lower fetch.min.bytes where latency matters more than fewer, larger answers",
    ),
    "member-fenced": FindingKind(_WARNING, "{subject}: {error}{by}", went_on=_WARNING),
    "coordinator-moved": FindingKind(_WARNING, "{subject}: {error}{by}"),
    "lag-growing": FindingKind(
        _WARNING,
        "{client} falls behind on {topic}: {lag} records, {before} at first",
        "the client reads more slowly than producers write",
        "add members and partitions, fetch more at once, or do less work between polls",
    ),
    "protocol-refused": FindingKind(_ERROR, "{clients} cannot join {subject}: {error}{offers}", went_on=_WARNING),
    "name-shared": FindingKind(
        _ERROR,
        "{setting} {name}{where} is used by {taken_by} in turns: each fences the other ({error})",
        "one process may have it: whoever takes it ends the one before, whose next request fails for good; restarted,"
        " it fences the other in turn",
        "give each process a {setting} of its own, or run one of them",
        went_on=_WARNING,
    ),
    # Producers and transactions.
    "records-corrupt": FindingKind(
        _ERROR,
        "batches {how} by {client} on {topic} have a wrong checksum",
        "bytes changed after the client computed it: memory, network cards, a proxy, or the client's own fault",
        "look for this error in logs of brokers and consumers; `kw sniff --records` shows these batches with crc bad",
    ),
    "values-undecodable": FindingKind(
        _ERROR,
        "{tally} of {topic} do not decode with schema {schema}{by}: {fault}",
        "consumers that decode by the schema stop at such a value, and cannot get past it",
        "compare the serializer of the writer with the schema that its values name; kw sniff --records shows them",
    ),
    "schema-unregistered": FindingKind(
        _ERROR,
        "{tally} of {topic} name schema {schema}, which {known}{by}",
        "consumers cannot decode these values: the writer uses another registry, or the schema was deleted there",
        "compare schema.registry.url of writers and readers, or give the schema to kw with --schemas",
    ),
    "value-misrouted": FindingKind(
        _WARNING,
        "likely misrouted to {topic}: {tally} with schema {schema}, which is registered for {other} alone{by}",
        "the topic has a subject of its own: consumers of it get values that they do not expect",
        "look where the writer chooses the topic; kw sniff --records shows the values",
    ),
    "schemas-mixed": FindingKind(
        _NOTE,
        "topic {topic} has values of {tally} types: {types}",
        "consumers have to expect each of them; the subject of a topic by default holds versions of one type",
        "if that is not meant, correct the writer; else have value.subject.name.strategy name subjects by record",
    ),
    "values-unframed": FindingKind(
        _WARNING,
        "{tally} of {topic} name no schema{by}, while others do{others}",
        "a consumer with a deserializer of a registry stops at the first of them: unknown magic byte",
        "have all writers of the topic use the same serializer; kw sniff --records shows the values",
    ),
    "lz4-refused": FindingKind(
        _ERROR,
        "{broker} refuses batches of {client}: their LZ4 frames have linked blocks",
        "Kafka reads independent blocks only (bit 5 of the frame's flags), and answers others with UNKNOWN_SERVER_ERROR"
        " or CORRUPT_MESSAGE",
        "have the client's LZ4 library write independent blocks (block_linked=False), or use another compression",
    ),
    "records-refused": FindingKind(_ERROR, "{subject}: {error}{by}", went_on=_WARNING),
    "too-large": FindingKind(_ERROR, "{subject}: {error}{by}", went_on=_WARNING),
    "timed-out": FindingKind(_WARNING, "{subject}: {error}{by}", went_on=_WARNING),
    "sequence-restarted": FindingKind(
        _ERROR,
        "{client} counts its batches to {topic} from 0 again without a new epoch (producer id {producer},"
        " partition {partition} expected {expected})",
        "the broker refuses them, and takes those with one of its last five numbers for copies: records are lost"
        " without an error",
        "have the program ask for a producer id (InitProducerId) each time it starts, or keep its sequence numbers",
    ),
    "sequence-reused": FindingKind(
        _ERROR,
        "{client} gives new records of {topic} sequence numbers that it {likely}has used (producer id"
        " {producer}{error}): {what}",
        "the broker takes them for copies of what it has, and stores none: records are lost, mostly without an error",
        "have each program ask for a producer id of its own (InitProducerId) each time it starts, and number its"
        " records without a break",
        went_on=_WARNING,
    ),
    "sequence-broken": FindingKind(_ERROR, "{subject}: {error}{by}{sequence}", went_on=_WARNING),
    "sent-again": FindingKind(
        _NOTE,
        "{client} sent {batches} batches to {topic} again, {why}",
        "{fate}",
        "look at the errors and time-outs before each retry; every retry adds latency",
    ),
    "sent-twice": FindingKind(
        _WARNING,
        "{client} sent {batches} batches to {topic} again without idempotence; the first try may have been written too",
        "where the first try was written, the records are there twice, and the second time behind later ones",
        "set enable.idempotence=true; find out why answers did not come (request.timeout.ms, load, cut connections)",
    ),
    "written-twice": FindingKind(
        _ERROR,
        "{likely}{batches} of {client} {were} written to {topic} twice: {what}",
        "{proof}; consumers get these records twice, unless the log was truncated in between",
        "{remedy}",
        went_on=_WARNING,
    ),
    "read-past": FindingKind(
        _WARNING,
        "group {group} passed {records} of {topic}, partition {places}, without reading them",
        "their Produce was acknowledged, the group read records before and behind them, and no answer that its members"
        " got had them: they began anew at the end (auto.offset.reset=latest without a commit), went ahead (seek), or"
        " an offset behind them was committed",
        "find out why: kw trace --losses says which records, and how each was passed; commit only what was processed",
    ),
    "producer-fenced": FindingKind(_WARNING, "{subject}: {error}{by}{of}", went_on=_WARNING),
    "transactions-abort": FindingKind(
        _WARNING,
        "{aborts} of {transactions} transactions of {transactional_id} were aborted",
        "aborted work is thrown away, and consumers with isolation.level=read_committed wait longer",
        "look in the producer's log for why it aborts",
    ),
    "transaction-hangs": FindingKind(
        _WARNING,
        "{what}",
        "consumers with isolation.level=read_committed stop at its first record",
        "{remedy}",
    ),
    "old-format": FindingKind(
        _WARNING,
        "{client} {does} records of the old format (magic 0 or 1) on {topics}",
        "brokers convert them, which costs their memory and CPU; brokers of Kafka 4 no longer serve such clients",
        "upgrade the client",
    ),
    "clock-ahead": FindingKind(
        _WARNING,
        "the clock of {client} is {ahead} ahead",
        "time stamps of its records lie in the future: retention by time keeps them longer, joins by time go wrong",
        "synchronise clocks (NTP); with message.timestamp.after.max.ms brokers refuse such records",
    ),
    "clock-behind": FindingKind(
        _WARNING,
        "{client} writes time stamps that are {behind} behind, and brokers refuse them",
        "its clock is wrong, or it copies old records: the topic takes none older than message.timestamp.before.max.ms",
        "synchronise clocks (NTP); for old records raise message.timestamp.before.max.ms of the topic",
    ),
    "timestamp-refused": FindingKind(_WARNING, "{subject}: {error}{by}", went_on=_WARNING),
    "small-batches": FindingKind(
        _NOTE,
        "{client} sends {records} records a batch to {topic}, {rate} batches a second",
        "a request for each record costs brokers and network many times what a batch costs",
        "raise linger.ms (5 to 20) and batch.size; flush less often",
    ),
    "many-in-flight": FindingKind(
        _NOTE,
        "{client} has {mean} Produce requests under way to {broker} on average, without idempotence",
        "a request that is sent again then lands behind later ones: records change their order",
        "set enable.idempotence=true, or max.in.flight.requests.per.connection to 5 or less",
    ),
    "one-in-flight": FindingKind(
        _NOTE,
        "{client} waits for each Produce answer of {broker} ({took}) before it sends the next",
        "its throughput is one request a round trip: max.in.flight is 1, or the program waits for each record",
        "send without waiting, with enable.idempotence=true and max.in.flight.requests.per.connection=5; raise linger",
    ),
    "no-compression": FindingKind(
        _NOTE,
        "{client} writes {size} to {topic} without compression",
        "network, disks and page cache of all replicas carry the full size",
        "set compression.type to lz4 or zstd",
    ),
    "skew": FindingKind(
        _NOTE,
        "partition {partition} of {topic} gets {share} of the bytes",
        "one broker and one consumer do most of the work of the topic",
        "look at the keys and the partitioner: often most records have the same key",
    ),
    "huge-frames": FindingKind(
        _NOTE,
        "{client}: a {side} of {api} of {size}",
        "brokers and clients hold the whole frame in memory, and later requests of the connection wait behind it",
        "lower max.request.size, fetch.max.bytes, or ask for less at once",
    ),
    # Limits and load.
    "throttled": FindingKind(
        _WARNING,
        "{broker} throttles {client}: {total} in all, {most} at most",
        "the client is over its quota, or over the broker's limit of connections or changes",
        "raise the quota (kafka-configs --entity-type clients), or have the client do less",
    ),
    "metadata-storm": FindingKind(
        _WARNING,
        "{client} asks for metadata {rate} times a second",
        "it looks for a topic or leader again and again, or creates a new client for each piece of work",
        "look at the errors of its Metadata answers, and keep one client object",
    ),
    # What published advisories are about (protocol_facts/advisories.py): it may happen, or somebody tries.
    "header-tags": FindingKind(
        _ERROR,
        "{client} declares {tags} tagged fields in the header of {api} to {broker}",
        "no request header has a tagged field: likely an attack on the memory of the broker (CVE-2026-111115), or a"
        " test with random bytes",
        "find the program at this address and stop it; run a broker that bounds them: kw help advisories",
    ),
    "array-beyond-frame": FindingKind(
        _WARNING,
        "{client} declares {elements} elements of {path} in {api} to {broker}, in a request of {size}",
        "a broker without a bound allocates memory for them (CVE-2026-111108): likely an attack, a test with random"
        " bytes, or a client with a fault",
        "find the program and stop it; run a broker that bounds them: kw help advisories",
    ),
    "telemetry-unpacked": FindingKind(
        _ERROR,
        "metrics that {client} pushes to {broker}, {size}, unpack to more than {most}",
        "no client has so many metrics: likely an attack on the memory of the broker (CVE-2026-111073)",
        "find the program and stop it; run a broker that bounds them: kw help advisories",
    ),
    "replica-claimed": FindingKind(
        _WARNING,
        "{client} fetches from {broker} as replica {node_id}",
        "only brokers fetch as replicas, and its client id is none of theirs: likely a tool that copies logs, or an"
        " attempt to read what consumers may not see yet, and to move high watermarks (CVE-2018-1288)",
        "find the program; allow CLUSTER_ACTION to brokers alone",
    ),
    "jndi-login-module": FindingKind(
        _ERROR,
        "{client} sets JndiLoginModule in configs of {broker}: {names}",
        "the module loads objects from the address in the config: an attempt to run foreign code (CVE-2025-27819)",
        "find the program and its user, take ALTER_CONFIGS from it, and look at what brokers below 3.4 have loaded",
    ),
    "ldap-login-module": FindingKind(
        _ERROR,
        "{client} sets LdapLoginModule in configs of {broker}: {names}",
        "the module loads objects from the address in the config: an attempt to run foreign code (CVE-2025-27818)",
        "find the program and its user, take ALTER_CONFIGS from it, and look at what brokers below 3.9.1 have loaded",
    ),
    "snapshot-fetch-empty": FindingKind(
        _WARNING,
        "{client} sends {broker} a FetchSnapshot without partitions",
        "a controller with a defect ends on it (CVE-2026-83525); no broker sends one",
        "find the program; allow CLUSTER_ACTION to brokers alone",
    ),
    "scram-iterations": FindingKind(
        _ERROR,
        "{broker} asks {client} for {iterations} iterations of SCRAM",
        "brokers of Kafka ask for 16,384 at most: likely no broker, and an attempt to keep the client busy"
        " (CVE-2026-10143)",
        "find out what answers at this address, and have clients verify certificates; upgrade kafka-python to 2.3.2",
    ),
    "scram-in-clear": FindingKind(
        _WARNING,
        "SASL/{mechanism} logins cross to {broker} without TLS",
        "brokers up to 3.8.0 do not compare the nonce (CVE-2024-56128), so that a login can be replayed; this one"
        " {release}",
        "make the listener SASL_SSL and have clients use it; upgrade the broker",
    ),
    "batch-misrouted": FindingKind(
        _ERROR,
        "{batches} of {client} for {meant} went to {elsewhere}{also}",
        "{proof}: likely records of one topic in the other (CVE-2026-35554), or a proxy that changes topics",
        "look at the records: kw trace --misrouted; upgrade a Java client to 3.9.2, 4.0.2, 4.1.2 or 4.2.0",
    ),
    "batch-expired": FindingKind(
        _WARNING,
        "{batches} of {client} for {topic} turned {age} old while a request with {them} was under way",
        "with delivery.timeout.ms as by default, the producer gives such a batch up; those of Java from 2.8.0 to 4.1.1"
        " may then send other records in its place (CVE-2026-35554), likely without an error",
        "upgrade the client to 3.9.2, 4.0.2, 4.1.2 or 4.2.0; find out why the broker answers so late",
    ),
    **dict.fromkeys(("quota-exceeded", "answered-with-error"), FindingKind(_WARNING, "{subject}: {error}{by}")),
    **dict.fromkeys(("already-there", "switched-off"), FindingKind(_NOTE, "{subject}: {error}{by}")),
    "telemetry-refused": FindingKind(_NOTE, "{subject}: {error}{by}"),
}

STORAGE_ERRORS: Final = (-1, 56)  # UNKNOWN_SERVER_ERROR, KAFKA_STORAGE_ERROR: the broker itself has failed
# Error code → the finding; all other codes give OTHER.
CODES: Final[dict[int, str]] = {
    **dict.fromkeys((3, 100), "topic-unknown"),
    **dict.fromkeys((29, 30, 31, 53, 65), "access-denied"),
    **dict.fromkeys((33, 34, 58), "login-failed"),
    35: "version-refused",
    **dict.fromkeys((2, 87), "records-refused"),
    **dict.fromkeys((10, 18), "too-large"),
    5: "leader-missing",
    **dict.fromkeys((6, 9, 74, 75), "leader-moved"),
    **dict.fromkeys((19, 20), "replicas-missing"),
    1: "offset-out-of-range",
    7: "timed-out",
    **dict.fromkeys((14, 15, 16), "coordinator-moved"),
    23: "protocol-refused",
    **dict.fromkeys((22, 25, 82, 110, 113), "member-fenced"),
    **dict.fromkeys((45, 46, 59), "sequence-broken"),
    **dict.fromkeys((47, 90), "producer-fenced"),
    89: "quota-exceeded",
    118: "telemetry-refused",
    **dict.fromkeys((11, 41, 77), "controller-moved"),
    36: "already-there",
    **dict.fromkeys((54, 61), "switched-off"),
    **dict.fromkeys(STORAGE_ERRORS, "broker-failed"),
    32: "timestamp-refused",
}
OTHER: Final = "answered-with-error"
