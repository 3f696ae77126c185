"""Findings about captures, and about who reaches whom. A literal table."""

from __future__ import annotations

from typing import Final

from decoders.analysis.doctor.kinds.finding_kind import ERROR, NOTE, WARNING, FindingKind

__all__ = ["CONNECTION_KINDS"]

CONNECTION_KINDS: Final[dict[str, FindingKind]] = {
    # The capture itself. The sentence of the fault is both title and remedy.
    "capture": FindingKind(WARNING, "{fault}", "findings miss whatever the capture lacks"),
    "capture-begins-late": FindingKind(
        NOTE, "{fault}", "findings about a client may miss what it did before the capture began"
    ),
    "left-out": FindingKind(
        NOTE,
        "the traffic has more clients, topics or partitions than kw keeps track of",
        "findings about the ones that appeared last may be missing",
        "look at a part of the traffic: --client-id, --topic, --since",
    ),
    # Who reaches whom.
    "advertised-wildcard": FindingKind(
        ERROR,
        "node {node_id} advertises {address}, to which no client can connect",
        "clients connect to the address that a broker advertises; a wildcard means their own machine, or nothing",
        "set advertised.listeners to a name or address that clients reach",
    ),
    "advertised-loopback": FindingKind(
        ERROR,
        "node {node_id} advertises {address} to clients on other machines",
        "these clients will look for the broker on their own machine",
        "set advertised.listeners to a name or address that clients reach; give each network a listener of its own",
    ),
    "advertised-elsewhere": FindingKind(
        NOTE,
        "node {node_id} answers at {broker} and advertises {address}, to which nobody connected",
        "where a port is forwarded or mapped, or a name is not known to clients, they reach {broker} and get no further"
        " than its first answers",
        "compare advertised.listeners with the addresses that clients use; have clients resolve its names",
    ),
    "advertised-shared": FindingKind(
        ERROR,
        "nodes {nodes} advertise one address, {address}",
        "clients that want a node get whichever answers there (a load balancer, or a copied config), and"
        " NOT_LEADER_OR_FOLLOWER or NOT_COORDINATOR from all others",
        "give each node an address of its own in advertised.listeners; a load balancer may serve as bootstrap alone",
    ),
    "client-stranded": FindingKind(
        WARNING,
        "{client} asks {broker} for metadata {rate} times a second and for nothing else, and tries no other node",
        "likely its machine does not know the names that the answers give ({others}): without an address there is"
        " nothing to connect to",
        "resolve these names on the client's machine (DNS, hosts file), or advertise addresses that it knows",
    ),
    "version-refused": FindingKind(
        ERROR,
        "{api} {api_version} of {client} is not served by {broker}{pace}",
        "the broker serves {offered}{since}; at other versions it closes the connection, or answers"
        " UNSUPPORTED_VERSION",
        "upgrade the client, or run kw audit, which lists the clients that a release no longer serves",
    ),
    "request-closed": FindingKind(
        ERROR,
        "{broker} closes the connection on {api} {api_version} of {client}: {fault}{tally}",
        "a request that a broker cannot read ends its connection; {likely}",
        "correct the code that writes this request, or upgrade the client; kw sniff -o hex shows its bytes",
    ),
    "request-odd": FindingKind(
        NOTE,
        "{api} {api_version} of {client} has {fault}; {broker} did not close the connection",
        "other brokers, and later releases of this one, may close the connection on it; {likely}",
        "correct the code that writes this request, or upgrade the client; kw sniff -o hex shows its bytes",
    ),
    "answer-odd": FindingKind(
        WARNING,
        "{broker} answers {api} {api_version} of {client} with {fault}",
        "clients that read by the definition fail on this answer; {likely}",
        "look at what answers there: a proxy, or a broker that is not Kafka's own; kw sniff -o hex shows the bytes",
    ),
    "answers-misplaced": FindingKind(
        ERROR,
        "{broker} {fault}",
        "brokers answer in the order of the requests, each once: clients close the connection on any other answer"
        " (Java: IllegalStateException; Sarama, kafka-python: an error of correlation ids)",
        "look at what answers there: a proxy that joins connections, or a broker that is not Kafka's own",
    ),
    "tls-to-plaintext": FindingKind(
        ERROR,
        "{host} speaks TLS to {broker}{which}: {tally}",
        "a listener without TLS takes the hello for a request of an absurd size and closes; no key log would help",
        "set security.protocol to PLAINTEXT or SASL_PLAINTEXT, or use the port of a listener with TLS",
    ),
    "plaintext-to-tls": FindingKind(
        ERROR,
        "{host} speaks plaintext to {broker}, which speaks TLS: {tally}",
        "a listener with TLS takes the request for a broken hello and closes",
        "set security.protocol to SSL or SASL_SSL, or use the port of a listener without TLS",
    ),
    "request-too-large": FindingKind(
        ERROR,
        "{broker} closes the connection on {api} of {client}{to} from {size} on{tally}{smaller}: likely"
        " above its socket.request.max.bytes",
        "a broker closes without an answer on a request that is larger than this setting (100 MiB by default); the"
        " client sends it again, in vain",
        "lower max.request.size and batch.size of the client, or raise socket.request.max.bytes",
    ),
    "tls-refused": FindingKind(
        ERROR,
        "{who} {breaks} off the TLS handshake with {other} ({alert}){why}: {tally}",
        "no request is ever sent on such a connection{others_served}",
        "{remedy}",
    ),
    "not-kafka": FindingKind(
        WARNING,
        "{host} sends {spoken} to {broker}, which speaks Kafka: {tally}",
        "a broker takes the first bytes for the size of a request; it closes, or waits for the rest",
        "find the program (a health check, a scraper, a client with a fault) and give it the right address;"
        " kw sniff -v shows the first bytes, kw decode --explain says what they are",
    ),
    "versions-closed": FindingKind(
        ERROR,
        "{broker} closes the connection on ApiVersions {api_version} of {client}{tally}",
        "a broker that does not know this version, or comes before 0.10, closes instead of answering",
        "upgrade the broker, or have the client ask with an older version (librdkafka: api.version.request,"
        " broker.version.fallback)",
    ),
    "entry-unanswered": FindingKind(
        ERROR,
        "{broker} takes new connections of {client} and answers nothing on them, which ended after up to"
        " {lasted}{others_served}",
        "where others are answered, it likely has as many connections as it may have (max.connections): it reads no new"
        " one before another one ends; else its process or the thread of its listener stands still",
        "count its connections, and look for who opens them and does not close them; raise max.connections; look at its"
        " threads and pauses at that time",
        went_on=WARNING,
    ),
    "entry-closed": FindingKind(
        ERROR,
        "{broker} closes new connections of {host} ({whose}) at once, before it answers anything{others_served}",
        "it likely has as many connections of this address as it may have (max.connections.per.ip), or something before"
        " it closes them",
        "have whoever opens connections and does not close them keep one client object, and close it; raise"
        " max.connections.per.ip or its overrides",
        went_on=WARNING,
    ),
    "login-missing": FindingKind(
        ERROR,
        "{broker} closes the connection on the first request of {client} after ApiVersions ({apis}){tally}",
        "the listener wants a login before any other request: the client sends none",
        "set security.protocol to SASL_PLAINTEXT or SASL_SSL, sasl.mechanism and credentials, or use another listener",
    ),
    "login-expired": FindingKind(
        WARNING,
        "{client} {verb} not log in again: {at} {closes} {connections} of {whose} connections, whose logins are older"
        " than {lifetime}",
        "the broker ends a session after connections.max.reauth.ms (session_lifetime_ms in its answer, KIP-368), and"
        " closes the connection on the next request, which it does not handle",
        "upgrade the client to one that logs in again by itself, or raise connections.max.reauth.ms",
    ),
    "login-failed": FindingKind(
        ERROR,
        "logins of {client}{by_user} fail with {error}{pace}{changed}",
        "{meaning}",
        "{remedy}",
        went_on=WARNING,
    ),
    "access-denied": FindingKind(ERROR, "{subject} is denied to {clients}: {error}{by_user}", went_on=WARNING),
    "unanswered": FindingKind(
        WARNING,
        "{api} of {client}{at} stays unanswered by {broker}; {ending}{then}",
        "{why}",
        "{remedy}",
    ),
    "connection-churn": FindingKind(
        WARNING,
        "{client} opens {rate} connections a second, each for {exchanges} exchanges",
        "each new connection costs round trips, a TLS handshake, a login and time of a broker thread",
        "create one client object for the life of the program, not one for each request",
    ),
    "retransmissions": FindingKind(
        WARNING,
        "{share} of the exchanges between {host} and {broker} needed retransmissions",
        "packets get lost between the two: each loss can stop a connection for 200 ms or more",
        "look at the link, its switches and the buffers of both machines",
    ),
    "idle-cut": FindingKind(
        WARNING,
        "{cuts} connections of {client} to {broker} were reset from the {whose} side after {idle} of silence",
        "brokers and clients end idle connections with FIN; a reset without one is a firewall, a load balancer or a NAT"
        " whose idle time-out is shorter, or a machine that crashed: the next request is lost",
        "set connections.max.idle.ms of clients below that time-out, or raise the time-out; TCP keep-alive helps too",
    ),
    "idle-dropped": FindingKind(
        WARNING,
        "requests of {client} ({host}){to} on {cuts} of its connections to {broker} are not acknowledged{silence}, and"
        " new ones are answered: {guess}",
        "{likely}",
        "{remedy}",
    ),
    "large-unheard": FindingKind(
        ERROR,
        "requests of {client} ({host}){to} from {size} on are sent again and again and not acknowledged by {broker}, on"
        " {where}, while smaller ones before them are answered: likely full packets are lost (MTU)",
        "likely packets above a size get lost on the way: an MTU that is smaller there (a tunnel, VPN or overlay), and"
        " no ICMP message that says so{others}",
        "find the largest packet that passes (ping -M do -s SIZE, tracepath); lower the MTU of the interfaces or clamp"
        " the MSS of TCP, and let ICMP type 3 code 4 (IPv6: type 2) pass",
    ),
    "answers-unheard": FindingKind(
        ERROR,
        "answers of {broker} to {client} ({host}) to {apis} from {size} on are begun, sent again and again and not"
        " finished, on {cuts} connections, while smaller ones before them arrive: likely full packets are lost (MTU)",
        "likely packets above a size get lost on the way to the client: an MTU that is smaller there (a tunnel, VPN or"
        " overlay), and no ICMP message that says so{others}",
        "find the largest packet that passes (ping -M do -s SIZE, tracepath); lower the MTU of the interfaces or clamp"
        " the MSS of TCP, and let ICMP type 3 code 4 (IPv6: type 2) pass",
    ),
    "zero-window": FindingKind(
        WARNING,
        "{who}{who_at} took nothing from {other}{other_at} {total}: its TCP window was 0",
        "its receive buffer was full because its program did not read: stopped, collecting garbage or overloaded",
        "look at the CPU, pauses and request queue of that side at the time; the network is not to blame",
    ),
    "proxy-head-refused": FindingKind(
        ERROR,
        "{via} puts a PROXY head before the stream, and {broker} closes the connection without an answer",
        "a broker takes the head for the size of a frame and closes: Kafka itself reads no PROXY protocol",
        "turn the PROXY protocol off at the load balancer, or put something before the broker that takes it",
    ),
    "no-connection": FindingKind(
        WARNING,
        "{host} cannot connect to {whom}: {how}",
        "clients that get this address from Metadata get no further than their bootstrap broker",
        "start the broker, or correct advertised.listeners, routes and firewalls between the two",
    ),
    "connection-filtered": FindingKind(
        ERROR,
        "new connections of {host} to {whom} are {how}, while {others_served} there{without_connection}{nobody}{lost}",
        "the broker runs; likely {likely}",
        "{remedy}",
    ),
    # What only a look at the cluster itself (-b) shows.
    "unreachable": FindingKind(
        ERROR,
        "{whom} cannot be reached from here: {why}",
        "clients that get this address from Metadata cannot use the partitions that this broker leads",
        "start it, or correct advertised.listeners, DNS, routes and firewalls; --dial-map dials another address",
    ),
    "not-looked-at": FindingKind(
        NOTE, "{brokers} were not examined: time was up", "findings about them are missing", "give a longer --timeout"
    ),
    "releases-differ": FindingKind(
        WARNING,
        "brokers look like different releases: {releases}",
        "an upgrade is under way, or one broker was left out of it",
        "finish the upgrade, then raise the features (metadata.version)",
    ),
    "feature-behind": FindingKind(
        NOTE,
        "{feature} is at level {level}, all brokers support {most}",
        "newer functions stay off until the level is raised; brokers cannot be downgraded below it afterwards",
        "run kafka-features upgrade --release-version once all brokers run well with the new release",
    ),
    "controller-silent": FindingKind(
        ERROR,
        "{broker} gets no answer from the controller: {why}",
        "topics cannot be made or changed, and leaders are not elected, while there is no active controller",
        "look at the controllers: more than half of them have to be up and reach each other",
    ),
    "controller-clock": FindingKind(
        WARNING,
        "the clock of the controller (node {node_id}) and that of this machine are {apart} apart",
        "timestamps and time-outs of the two do not match, nor do their logs",
        "synchronise the clocks (NTP)",
    ),
}
