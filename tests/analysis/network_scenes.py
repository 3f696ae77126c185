"""Scenes of networks that let some packets through and others not: for test_doctor.py."""

from __future__ import annotations

from math import inf
from typing import Any, Final

from decoders.protocol_facts.api_keys import API_VERSIONS, FETCH, HEARTBEAT, METADATA, PRODUCE
from tests.analysis.scenes import BROKER, FIN, RST, Scene

_OTHER: Final = "10.0.0.8:9092"
_NODES: Final = [{"node_id": 1, "host": "10.0.0.9", "port": 9092}, {"node_id": 2, "host": "10.0.0.8", "port": 9092}]
_BEAT: Final = {"group_id": "billing"}
_VERSIONS: Final = API_VERSIONS, 3
_BEGUN: Final[dict[str, Any]] = {"client_software_name": "librdkafka" * 9, "client_software_version": "2"}


def _nodes(at: float, scene: Scene, client: str, *, host: str = "10.0.0.1", line: int = 0) -> Scene:
    return scene.ask(at, (METADATA, 9), {}, {"brokers": _NODES, "topics": []}, client=client, host=host, line=line)


def filtered(
    *knocks: float, older: str = "10.0.0.1", until: float = 30, tries: int = 3, refused: bool = False, **more: Any
) -> Scene:
    """A client has a connection to node 2 from before, and another one of the first host gets none."""
    scene = _nodes(0.1, _nodes(0, Scene(), "old"), "new", line=1)
    for second in range(round(until)):
        scene.ask(second + 0.5, (HEARTBEAT, 3), _BEAT, {}, client="old", host=older, broker=_OTHER)
    for at in knocks:
        scene.knock(at, _OTHER, refused=refused, tries=tries, **more)
    return _nodes(29, scene, "new", line=1)


def cut_between_nodes() -> Scene:
    """Node 3 loses what it sends to node 2, which others reach: its Fetch first, then new connections; writes fail."""
    nodes = [*_NODES, {"node_id": 3, "host": "10.0.0.3", "port": 9092}]
    part = {"partition_index": 0, "leader_id": 2, "replica_nodes": [2, 3], "isr_nodes": [2, 3]}
    topics = [{"name": "payments", "partitions": [part]}]
    scene = Scene().ask(0, (METADATA, 9), {}, {"brokers": nodes, "topics": topics}, client="pay")
    follower: dict[str, Any] = {"client": "broker-3-fetcher-0", "host": "10.0.0.3"}
    scene.ask(0.5, (METADATA, 9), {}, {"brokers": nodes}, **follower, line=1)
    scene.ask(1, (FETCH, 11), {"replica_id": 3}, {}, broker=_OTHER, **follower)
    scene.ask(8, (FETCH, 11), {"replica_id": 3}, broker=_OTHER, **follower, took=20, again=6, ends=RST)
    for at in (12, 20):
        scene.knock(at, _OTHER, refused=False, host="10.0.0.3", tries=3)
    for at in range(30):
        scene.ask(at + 0.5, (HEARTBEAT, 3), _BEAT, {}, client="pay", broker=_OTHER)
        code = 19 if at >= 14 else 0
        written = {"responses": [{"name": "payments", "partition_responses": [{"index": 0, "error_code": code}]}]}
        asked = {"acks": -1, "topic_data": [{"name": "payments", "partition_data": [{"index": 0, "records": b""}]}]}
        scene.ask(at + 0.6, (PRODUCE, 8), asked, written, client="pay", broker=_OTHER)
    return scene.ask(29, (METADATA, 9), {}, {"brokers": nodes}, **follower, line=1)


def restarted(*refused: float, back: float = 12) -> Scene:
    """Node 2 refuses all connections at some times; the client of another host connects again as it is back."""
    scene = _nodes(0.1, _nodes(0, Scene(), "gives-up", line=1), "comes-back", host="10.0.0.4", line=1)
    for at in (0.5, 1.5):
        scene.ask(at, (HEARTBEAT, 3), _BEAT, {}, client="gives-up", broker=_OTHER)
        scene.ask(at, (HEARTBEAT, 3), _BEAT, {}, client="comes-back", host="10.0.0.4", broker=_OTHER)
    for at in refused:
        scene.knock(at, _OTHER)
        if at < back:
            scene.knock(at, _OTHER, host="10.0.0.4")
    for at in range(6):
        scene.ask(back + 2 * at, (HEARTBEAT, 3), _BEAT, {}, client="comes-back", host="10.0.0.4", broker=_OTHER, line=2)
    return _nodes(29, scene, "gives-up", line=1)


def entries_of_two(took: float, *, first: bool = True) -> Scene:
    """New connections of two clients at one broker, which answers neither; `first`: it has answered a third before."""
    scene = Scene()
    if first:
        scene.ask(0, _VERSIONS, _BEGUN, _SERVES, client="old", line=90)
    for number in range(4):
        at = 5 + 20 * number
        scene.ask(at, _VERSIONS, _BEGUN, client="new", line=number, took=took, ends=FIN)
        scene.ask(at + 1, _VERSIONS, _BEGUN, client="newer", line=number, took=took, ends=FIN, host="10.0.0.2")
    return scene


def grown(*sizes: int, again: int = 5, silence: float = 0.1, answered: int = 0) -> Scene:
    """New connections that answer ApiVersions, and then acknowledge no Produce of some size: one after the other."""
    scene = Scene().ask(0, (HEARTBEAT, 3), _BEAT, {}, client="small", line=90)
    for number, size in enumerate(sizes):
        records = bytes(size)
        topics = [{"name": "photos", "partition_data": [{"index": 0, "records": records}]}]
        at = 1 + 20 * number
        scene.ask(at, _VERSIONS, _BEGUN, {}, client="big", line=number)
        fate: dict[str, Any] = {"took": 0.001} if number < answered else {"took": inf, "again": again}
        scene.ask(at + silence, (PRODUCE, 9), {"acks": 1, "topic_data": topics}, {}, client="big", line=number, **fate)
    return scene.ask(20 * len(sizes), (HEARTBEAT, 3), _BEAT, {}, client="small", line=90)


def unheard_on(*hosts: str) -> Scene:
    """Programs with one client id on several hosts, whose connections are dropped while requests wait on them."""
    scene = Scene()
    for host in ("10.0.0.1", "10.0.0.2"):
        scene.ask(0, (METADATA, 9), {}, {"brokers": [], "topics": []}, client="rdkafka", host=host)
    for host in hosts:
        scene.ask(5, (METADATA, 9), {}, {}, client="rdkafka", host=host, took=inf, again=6)
        scene.ask(5.5, (METADATA, 9), {}, {}, client="rdkafka", host=host, took=inf)
    return scene.ask(60, (METADATA, 9), {}, {"brokers": [], "topics": []}, client="rdkafka", line=5)


def unread(times: int, size: int = 3000, *, stuck: int = 5, first: bool = False) -> Scene:
    """New connections on which an answer of some size is begun, and sent again: one after the other."""
    scene = Scene().ask(0, (HEARTBEAT, 3), _BEAT, {}, client="small", line=90)
    part = {"partition_index": 0, "error_code": 0, "high_watermark": 0, "records": bytes(size)}
    answer = {"responses": [{"topic": "photos", "partitions": [part]}]}
    for number in range(times):
        if not first:
            scene.ask(1 + 20 * number, _VERSIONS, _BEGUN, {}, client="big", line=number)
        scene.ask(1.1 + 20 * number, (FETCH, 11), {"topics": []}, answer, client="big", line=number, stuck=stuck)
    return scene.ask(20 * times, (HEARTBEAT, 3), _BEAT, {}, client="small", line=90)


def entered(
    times: int, took: float, *, others: bool = True, known: bool = True, stay: int = 0, host: str = "10.0.0.1"
) -> Scene:
    """New connections whose first request is not answered, while an older one is, maybe; others that `stay` open."""
    scene = Scene()
    for number in range(stay):
        scene.ask(number / 9, _VERSIONS, _BEGUN, _SERVES, client=f"mailer-{number}", line=100 + number, host=host)
    if known:
        scene.ask(0, _VERSIONS, _BEGUN, _SERVES, client="old", line=90)
    for number in range(times):
        at = 5 + 20 * number
        scene.ask(at, _VERSIONS, _BEGUN, client="new", line=number, took=took, ends=FIN, host=host)
        if stay:
            scene.ask(at, _VERSIONS, _BEGUN, client="mailer-99", line=number, took=took, ends=FIN, host=host)
            scene.ask(at + 8, (HEARTBEAT, 3), _BEAT, {}, client="old", line=90)
        if others:
            scene.ask(at + 15, (HEARTBEAT, 3), _BEAT, {}, client="old", line=90)
    return scene


_SERVES: Final = {"api_keys": [{"api_key": key, "min_version": 0, "max_version": 9} for key in (3, 12, 18)]}


def listed(
    *hosts: str, times: int = 12, every: float = 1, more: bool = False, code: int = 0, other: str = _OTHER
) -> Scene:
    """A client that asks for metadata again and again, of a topic with a code: these are the nodes' hosts, from 1 on.

    Another one asks the node at `other`.
    """
    nodes = [{"node_id": number, "host": host, "port": 9092} for number, host in enumerate(hosts, 1)]
    scene = Scene().ask(0, (HEARTBEAT, 3), _BEAT, {}, client="other", line=90, broker=other)
    answer = {"brokers": nodes, "topics": [{"name": "orders", "error_code": code, "partitions": []}]}
    for number in range(times):
        scene.ask(number * every, (METADATA, 9), {}, answer, client="shop")
    return scene.ask(2, (HEARTBEAT, 3), _BEAT, {}, client="shop") if more else scene


def replaced(*numbers: int) -> Scene:
    """Answers that list these nodes at one address, one after the other: a load balancer asks old and new brokers."""
    scene = Scene()
    for at, number in enumerate(numbers):
        node = {"node_id": number, "host": "10.0.0.8", "port": 9092}
        scene.ask(at, (METADATA, 9), {}, {"brokers": [node], "topics": []})
    return scene


def alerted(alert: int, *, by_broker: bool = True, hello: bytes = b"", times: int = 3, at: str = BROKER) -> Scene:
    """TLS handshakes that one side breaks off with an alert: the broker at once, the client behind its hello."""
    said = bytes([0x15, 3, 3, 0, 2, 2, alert])
    scene = Scene(None).ask(0, (METADATA, 9), {}, {"brokers": _NODES, "topics": []}, broker="10.0.0.9:9093")
    for number in range(times):
        if by_broker:
            scene.speak(1 + number, hello or _HELLO, said, ends=FIN, broker=at)
        else:
            scene.speak(1 + number, hello or _HELLO, _SERVER_HELLO, then=said, ends=FIN, broker=at)
    return scene


# A hello that offers TLS 1.1 alone, and the beginning of an answer.
_HELLO: Final = bytes.fromhex("160302002d010000290302") + bytes(33) + bytes.fromhex("00020035" + "0100")
_SERVER_HELLO: Final = bytes.fromhex("160303007a020000760303") + bytes(116)


def lossy(count: int, since: int, again: int = 1) -> Scene:
    """Requests, one each 2 s, each of which is sent again a second later from the one with this number on."""
    scene = Scene()
    for number in range(count):
        lost = again if number >= since else 0
        scene.ask(2 * number, (HEARTBEAT, 3), _BEAT, {}, client="far", took=1.5 if lost else 0.001, again=lost)
    return scene


NETWORK_SCENES: Final[list[tuple[str, Scene, str, str]]] = [
    (
        *("connection-filtered", filtered(3, 12), "error"),
        "new connections of 10.0.0.1 to node 2 at 10.0.0.8:9092 are not answered, while older ones of old go on there;"
        " new is answered by other brokers alone",
    ),
    (
        *("connection-filtered", filtered(3, 12, older="10.0.0.4"), "error"),
        "to node 2 at 10.0.0.8:9092 are not answered, while those of 10.0.0.4 go on there; new is",
    ),
    (
        *("connection-filtered", filtered(3, 6, 12, tries=1, refused=True), "error"),
        "to node 2 at 10.0.0.8:9092 are refused, while older ones of old go on there; new is answered",
    ),
    (
        *("connection-filtered", filtered(3, 12, heard=True), "error"),
        "to node 2 at 10.0.0.8:9092 are answered, and the answers (SYN-ACK) are not heard, while older ones of old",
    ),
    (
        *("connection-filtered", cut_between_nodes(), "error"),
        "new connections of 10.0.0.3 to node 2 at 10.0.0.8:9092 are not answered, while those of 10.0.0.1 go on there;"
        " broker-3-fetcher-0 is answered by other brokers alone; on an open one nothing gets through since"
        " 14:13:28 UTC",
    ),
    (
        *("no-connection", filtered(3, 12, heard=True, until=2), "warning"),
        "10.0.0.1 cannot connect to node 2 at 10.0.0.8:9092: answered, and the answers (SYN-ACK) are not heard",
    ),
    (
        *("entry-unanswered", entered(3, 10), "error"),
        "10.0.0.9:9092 takes new connections of new and answers nothing on them, which ended after up to 10s, while"
        " others there go on (old)",
    ),
    (
        *("entry-unanswered", entered(3, 10, others=False, known=False), "error"),
        "10.0.0.9:9092 takes new connections of new and answers nothing on them, which ended after up to 10s",
    ),
    (
        *("entry-closed", entered(3, 0.001), "error"),
        "10.0.0.9:9092 closes new connections of 10.0.0.1 (new) at once, before it answers anything, while other",
    ),
    (
        *("entry-closed", entered(3, 0.001, stay=30, host="10.0.0.5"), "error"),
        "10.0.0.9:9092 closes new connections of 10.0.0.5 (mailer-99, new) at once, before it answers anything: likely"
        " its limit for one address (max.connections.per.ip), as 30 others of it are open, all of mailer-* (30 client"
        " ids), first seen from",
    ),
    (
        *("entry-closed", entered(3, 0.001, stay=3, host="10.0.0.5"), "error"),
        "10.0.0.9:9092 closes new connections of 10.0.0.5 (mailer-99, new) at once, before it answers anything, while",
    ),
    (
        *("advertised-shared", listed("10.0.0.9", "10.0.0.9"), "error"),
        "nodes 1, 2 advertise one address, 10.0.0.9:9092",
    ),
    (
        *("client-stranded", listed("10.0.0.9", "kafka-2.internal"), "warning"),
        "shop asks 10.0.0.9:9092 for metadata 1.1 times a second and for nothing else, and tries no other node",
    ),
    (
        *("tls-refused", alerted(70), "error"),
        "10.0.0.9:9092 breaks off the TLS handshake with 10.0.0.7 (protocol_version), which offers TLS 1.1: 3 conn",
    ),
    (
        *("tls-refused", alerted(40), "error"),
        "10.0.0.9:9092 breaks off the TLS handshake with 10.0.0.7 (handshake_failure): 3 connections",
    ),
    (
        *("tls-refused", alerted(116), "error"),
        "(certificate_required), as it wants a certificate of the client (ssl.client.auth), which shows none: 3 conn",
    ),
    (
        *("tls-refused", alerted(42), "error"),
        "(bad_certificate), likely as it wants a certificate of the client (ssl.client.auth), which shows none: 3 conn",
    ),
    (
        *("tls-refused", alerted(45, by_broker=False), "error"),
        "10.0.0.7 breaks off the TLS handshake with 10.0.0.9:9092 (certificate_expired), as it refuses the certif",
    ),
    (
        *("tls-refused", alerted(45, by_broker=False, at="10.0.0.9:26500"), "error"),
        "10.0.0.7 breaks off the TLS handshake with 10.0.0.9:26500 (certificate_expired), as it refuses the certif",
    ),
    (
        *("large-unheard", grown(3000, 2000, 3000), "error"),
        "requests of big (10.0.0.1) to photos from 2.0kB on are sent again and again and not acknowledged by"
        " 10.0.0.9:9092, on 3 new connections, while smaller ones before them are answered: likely full packets are",
    ),
    (
        *("answers-unheard", unread(3), "error"),
        "answers of 10.0.0.9:9092 to big (10.0.0.1) to Fetch from 3.1kB on are begun, sent again and again and not",
    ),
    (
        *("idle-dropped", grown(700, 700, 700, silence=9), "error"),
        "requests of big (10.0.0.1) to photos on 3 of its connections to 10.0.0.9:9092 are not acknowledged, each after"
        " 8s of silence or more, and new ones are answered: likely a NAT or firewall forgot them",
    ),
    ("idle-dropped", unheard_on("10.0.0.1", "10.0.0.2"), "warning", "requests of rdkafka (10.0.0.1) on 1 of its conn"),
    (
        *("idle-dropped", grown(700, 700, 700), "error"),
        "to 10.0.0.9:9092 are not acknowledged, and new ones are answered: something drops their packets",
    ),
    (
        *("idle-dropped", grown(3000, 3000, 3000, silence=3.5), "error"),
        "are not acknowledged, and new ones are answered: a NAT or firewall forgot them, or full packets are lost",
    ),
]
NETWORK_BESIDES: Final[dict[str, set[str]]] = {"connection-filtered": {"replicas-missing"}}
# A broker that answers no client any more.
DEAD_ENTRY: Final = entries_of_two(10, first=False)
NETWORK_NEAR: Final[list[tuple[str, Scene]]] = [
    ("tls-refused", alerted(45, by_broker=False, at="10.0.0.5:26500")),
    ("tls-refused", alerted(45, by_broker=False, at="10.0.0.9:443")),
    # Another program of the machine on which somebody tries things out.
    ("tls-refused", alerted(45, by_broker=False, at="127.0.0.1:8443").ask(1, _VERSIONS, broker="127.0.0.1:9092")),
    ("connection-filtered", filtered(3, tries=2)),  # two packets are chance
    ("connection-filtered", filtered(3, 12, until=2)),  # nobody is answered any more
    ("connection-filtered", filtered(3, 6, 22, until=15, tries=1, refused=True)),  # it ended meanwhile
    # A connection is accepted meanwhile, or afterwards.
    ("connection-filtered", filtered(3, 12).ask(14, (HEARTBEAT, 3), _BEAT, {}, client="new", broker=_OTHER, line=5)),
    ("no-connection", filtered(3, tries=2, heard=True)),
    # A pool holds open connections on which nothing is asked.
    ("connection-filtered", filtered().connect(3, _OTHER, kept_alive=4).connect(4, _OTHER, kept_alive=4)),
    ("no-connection", filtered(until=2).connect(3, _OTHER, kept_alive=4)),
    ("connection-filtered", restarted(5, 7, 9)),
    ("connection-filtered", restarted(5, 7, 9, 11, 12.5)),  # its listener opens a moment later for one host
    ("advertised-shared", listed("10.0.0.9", "10.0.0.8")),
    ("advertised-shared", replaced(1, 4, 1, 4)),
    ("client-stranded", listed("10.0.0.9", "10.0.0.8")),
    ("client-stranded", listed("10.0.0.9", "kafka-2.internal", every=4)),
    ("client-stranded", listed("10.0.0.9", "kafka-2.internal", more=True)),
    ("client-stranded", listed("10.0.0.9", "kafka-2.internal").knock(3, _OTHER)),
    ("client-stranded", listed("10.0.0.9", "kafka-2.internal", code=3)),  # it waits for a topic
    ("client-stranded", listed("10.0.0.9", "kafka-2.internal", other=BROKER)),  # the rest may not be captured
    ("entry-unanswered", entered(2, 10)),
    ("entry-closed", entries_of_two(0.001)),  # a load balancer that has no broker any more
    ("entry-closed", entered(2, 0.001)),
    ("entry-closed", entered(3, 0.001, others=False)),
    ("entry-closed", entered(3, 0.001, known=False)),  # it may not know this version
    ("versions-closed", entered(3, 10, others=False, known=False)),
    ("answers-unheard", unread(1)),
    ("answers-unheard", unread(3, stuck=3)),
    ("answers-unheard", unread(3, first=True)),
    ("answers-unheard", unread(3, size=900)),
    ("large-unheard", grown(700, 700, 700)),  # each fits into a packet
    ("large-unheard", grown(3000)),  # one connection alone
    ("large-unheard", grown(3000, 3000, again=3)),
    ("large-unheard", grown(20, 20)),  # no larger than what was answered before
    ("large-unheard", grown(3000, 3000, silence=15)),  # something may have forgotten the connections
    ("idle-dropped", grown(3000, 3000, 3000)),
    ("requests-pending", grown(3000, 3000, 3000)),
    ("requests-pending", unheard_on("10.0.0.1", "10.0.0.2")),
    ("idle-dropped", unheard_on("10.0.0.2")),  # another host alone goes on
]
