"""Findings about topics, partitions, replicas, and groups. A literal table."""

from __future__ import annotations

from typing import Final

from decoders.analysis.doctor.kinds.finding_kind import ERROR, NOTE, WARNING, FindingKind

__all__ = ["CLUSTER_KINDS"]

CLUSTER_KINDS: Final[dict[str, FindingKind]] = {
    # Topics, partitions, replicas.
    "broker-gone": FindingKind(
        ERROR,
        "node {node_id}{at} is gone{since}: brokers no longer list it{places}",
        "it stopped, was cut off or fenced: what it led has other leaders or none, and its replicas fall out of sync",
        "start it, or look in its log and the controller's for why its sessions ended",
    ),
    "broker-back": FindingKind(
        WARNING,
        "node {node_id}{at} was gone{since}{until}{places}",
        "{state}; clients had to find other leaders",
        "look in its log and the controller's at that time; a planned restart takes a minute and no client notices",
    ),
    "broker-restarts": FindingKind(
        ERROR,
        "{who} went away {times} times and came back: it refused connections from {outages}; it was up for {up} in"
        " between",
        "its process ends soon after it was started and is started again (a crash loop): it lacks memory or disk,"
        " cannot read its config or a log, or something kills it; each time other nodes take over what it led",
        "look in its log right before each end, and ask what starts it for the reason (systemd, Kubernetes: exit code,"
        " OOMKilled, a probe that fails)",
        went_on=WARNING,
    ),
    "broker-down": FindingKind(
        ERROR,
        "{who} went away: it refuses connections and answers nothing any more",
        "its process ended; what it led has no leader until another node is elected, and writes with acks=all wait for"
        " its replicas until they count as out of sync",
        "start it, and look in its log and its machine's for why it ended",
    ),
    "broker-silent": FindingKind(
        ERROR,
        "{who} answered nobody for {span}, while requests of {waiting} waited for it",
        "its process stood still (stopped, collecting garbage, waiting for a disk), or its network was cut off; writes"
        " with acks=all to other leaders likely wait for its replicas",
        "look at its process, disk and machine at that time; firewalls and clients are hardly to blame",
        went_on=WARNING,
    ),
    "requests-pending": FindingKind(
        WARNING,
        "{api} of {client}{place} still waits for {broker} at the end of the capture, after {waited}{lost}",
        "{why}",
        "{remedy}",
    ),
    "topic-unknown": FindingKind(ERROR, "topic {topic} {lacks}{nearest}{deleted}", "{meaning}", "{remedy}"),
    "partition-offline": FindingKind(
        ERROR,
        "{places} without a leader{replicas}",
        "nothing can be written to or read from such a partition",
        "bring the brokers of its replicas back; unclean elections lose records",
        went_on=NOTE,
    ),
    "under-replicated": FindingKind(
        WARNING,
        "{places} {state}{replicas}",
        "one more failure may stop writing (min.insync.replicas) or lose the partition",
        "bring these brokers back, or find out why they lag behind (disk, network, num.replica.fetchers)",
        went_on=NOTE,
    ),
    "isr-flapping": FindingKind(
        WARNING,
        "replicas of {places} fall out of sync and come back: {changes} changes",
        "followers are behind for more than replica.lag.time.max.ms, again and again; acks=all waits or fails then",
        "look at disk, garbage collection and network of the brokers that fall out (AlterPartition requests name them)",
    ),
    "isr-shrunk": FindingKind(
        WARNING,
        "{places}: replicas fell out of sync and had not come back at the end",
        "one more failure may stop writing (min.insync.replicas) or lose the partition",
        "bring these brokers back, or find out why they lag behind (disk, network, num.replica.fetchers)",
    ),
    "follower-behind": FindingKind(
        WARNING,
        "node {node_id} is up to {behind} records behind the in-sync replicas of {places}",
        "it is out of sync until it has caught up: the partition has one copy less",
        "a broker that restarted catches up; else look at its disk and network, and at num.replica.fetchers",
    ),
    "leaders-move": FindingKind(
        WARNING,
        "the leaders of {topic} moved {moves} times ({parts} partitions)",
        "clients of a partition stop until they know its new leader; brokers or their sessions come and go",
        "look in the controller's log for why brokers were fenced; check session time-outs and garbage collection",
    ),
    "leader-missing": FindingKind(ERROR, "{subject}: {error}{by}"),
    "leader-moved": FindingKind(WARNING, "{subject}: {error}{by}"),
    "replicas-missing": FindingKind(ERROR, "writes to {subject} fail with {error}", went_on=WARNING),
    "offset-out-of-range": FindingKind(
        WARNING, "{subject}: {error}{by}{reset}", "{meaning}", "{remedy}", went_on=WARNING
    ),
    "commit-lost": FindingKind(
        WARNING,
        "group {group} had committed offset{several} {offset} at {at}, and has none any more",
        "{why}: its members begin where auto.offset.reset says, and read records again or leave some out",
        "{remedy}",
    ),
    "partitions-added": FindingKind(
        WARNING,
        "group {group} does not read {places}, added{who} at {at} (topic {topic} had {old} partitions, has {new}),"
        " while {writers} {verb} there",
        "members learn of added partitions when they next ask for the topic's metadata (metadata.max.age.ms, in"
        " librdkafka topic.metadata.refresh.interval.ms: 5 minutes by default), and join the group again then; what is"
        " written until then is read late, and with auto.offset.reset=latest never",
        "restart the members, which reads the added partitions at once; set auto.offset.reset=earliest, and lower"
        " metadata.max.age.ms before partitions are added",
    ),
    "assigned-unread": FindingKind(
        WARNING,
        "{client} in group {group} has {places} and asked for no record of it in {time}, while it reads others",
        "its lag grows, and no other member takes it over: the partition is paused, or stuck in the client",
        "look for pause() without resume() in the program, and in its log for errors about this partition",
    ),
    "start-repeated": FindingKind(
        WARNING,
        "{client} in group {group} began {times} times at {place} offset {offset}, and committed nothing behind it",
        "likely that record, or one soon behind it, ends its program each time, and nothing behind it is handled",
        "look into the program's log, and at the record (kw trace CAPTURE {record}); let it pass over such records",
    ),
    "cluster-mixed": FindingKind(
        ERROR,
        "{who} belongs to another cluster: its cluster id is {cluster}, that of the others {other} ({shown})",
        "its log.dirs were formatted with another cluster id, or it was given the addresses of another cluster: it"
        " takes no part in the quorum and does not serve as broker, and what it held before is not there",
        "stop it; correct controller.quorum.voters (or bootstrap.servers) where the addresses are wrong, else format"
        " its log.dirs anew with the id of its cluster (kafka-storage format -t {other})",
    ),
    "cluster-anew": FindingKind(
        WARNING,
        "{who} {verb} another cluster id since {at}: {cluster}; it was {other} up to {until}, and {readers} {goes} on",
        "likely the cluster was made anew (its log.dirs were lost or formatted), or the address leads to another one:"
        " topics, records, committed offsets and producer ids of before are not there, though clients go on with what"
        " they knew",
        "find out who made it anew, or what moved the address (DNS, load balancer, port forward); if it was meant,"
        " restart the clients that ran before, and look where their groups begin",
    ),
    "election": FindingKind(
        WARNING,
        "controllers elect a leader ({nodes} ask for votes)",
        "the quorum lost its leader: until a new one is elected nothing can be changed in the cluster",
        "look at the controllers' load, disks and network at that time",
    ),
    "controller-moved": FindingKind(WARNING, "{subject}: {error}{by}"),
    "broker-failed": FindingKind(ERROR, "{broker}: {error}{of}", went_on=WARNING),
    "slow-broker": FindingKind(
        WARNING,
        "{broker} takes {latency} for {api}, its peers {peers} (medians)",
        "partitions that this broker leads are slower than the rest",
        "look at its disk, its garbage collection and its network; move leaders away from it",
    ),
    # Groups.
    "rebalance-storm": FindingKind(
        WARNING,
        "group {group} rebalances again and again: {generations} generations, {members} members{cause}{waited}",
        "while a classic group rebalances, none of its members reads",
        "find out who joins and leaves, and why: time-outs (max.poll.interval.ms, session.timeout.ms), restarts,"
        " crashes; static membership (group.instance.id) and cooperative assignors make rebalances fewer and shorter",
    ),
    "heartbeats-late": FindingKind(
        WARNING,
        "{client} in group {group} was not heard for {pause}; its session times out after {timeout}",
        "a member that is silent for longer than its session time-out is removed, and the group rebalances",
        "look at pauses of the process (garbage collection, CPU limits) and of the network; heartbeat.interval.ms is a"
        " third of session.timeout.ms or less",
    ),
    "read-again": FindingKind(
        NOTE,
        "{client} fetched records of {topic} again on the same connection: {read} offsets, {once} different ones",
        "records fetched earlier were thrown away: by pausing and seeking, by rebalances, or by a poll that failed",
        "do not seek back or pause for each batch; see kw groups for the share of each group",
    ),
    "fetch-sessions-lost": FindingKind(
        WARNING,
        "{broker} has forgotten the fetch session of {client} {lost} times",
        "each time the client must name all its partitions again, and incremental fetches save nothing",
        "raise max.incremental.fetch.session.cache.slots: the cache is too small for all consumers and followers",
    ),
    "fetch-sessions-unused": FindingKind(
        WARNING,
        "{client} opens a fetch session at {broker} with each Fetch and never uses it: {opened} sessions",
        "each one takes a place in the broker's cache (max.incremental.fetch.session.cache.slots): others lose theirs"
        " and get FETCH_SESSION_ID_NOT_FOUND (KIP-227)",
        "upgrade the client; one that does not use sessions asks with epoch -1",
    ),
    "fetch-loop": FindingKind(
        WARNING,
        "{client} asks {broker} {rate} times a second and gets nothing at once{place}",
        "{why}: broker, network and client are busy with empty answers",
        "{remedy}",
    ),
    "busiest-client": FindingKind(
        NOTE,
        "{client} makes {share} of all exchanges: {rate} a second",
        "what one client does hides what the others do, and takes the time of brokers",
        "look at what it does: kw stats --by api --client-id {client}",
    ),
    "poll-stopped": FindingKind(
        WARNING,
        "{client} {what}",
        "{likely}its program did not call poll() for longer than max.poll.interval.ms{patience}, so its library left"
        " the group for it; the group rebalances, and records are handled twice",
        "find what the program waits for between two polls; raise max.poll.interval.ms or lower max.poll.records",
        followed=(
            "likely it got nothing in this time because of what is found above, and left then; the group rebalances,"
            " and records are handled twice",
            "see to the cause: the member has likely done nothing wrong",
        ),
    ),
    "fetch-waits": FindingKind(
        NOTE,
        "{client} gets records only after {waited}, because they are below its fetch.min.bytes: {count} fetches",
        "brokers hold an answer back until there are fetch.min.bytes of records, or fetch.max.wait.ms have passed",
        "lower fetch.min.bytes where latency matters more than fewer, larger answers",
    ),
    "member-fenced": FindingKind(WARNING, "{subject}: {error}{by}", went_on=WARNING),
    "coordinator-moved": FindingKind(WARNING, "{subject}: {error}{by}"),
    "lag-growing": FindingKind(
        WARNING,
        "{client} falls behind on {topic}: {lag} records, {before} at first",
        "the client reads more slowly than producers write",
        "add members and partitions, fetch more at once, or do less work between polls",
    ),
    "protocol-refused": FindingKind(ERROR, "{clients} cannot join {subject}: {error}{offers}", went_on=WARNING),
    "name-shared": FindingKind(
        ERROR,
        "{setting} {name}{where} is used by {taken_by} in turns: each fences the other ({error})",
        "one process may have it: whoever takes it ends the one before, whose next request fails for good; restarted,"
        " it fences the other in turn",
        "give each process a {setting} of its own, or run one of them",
        went_on=WARNING,
    ),
}
