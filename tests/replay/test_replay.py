"""`kw replay` as people use it: what would be sent, what cannot be, wrong options, a cluster that is not there."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from decoders.protocol_facts.api_keys import METADATA, PRODUCE
from decoders.replaying.id_map import NameMap
from kwcli.capture_options import CaptureOptions
from kwcli.net.session import broker_session
from kwcli.options import FilterOptions
from kwcli.output.output_settings import Settings
from kwcli.playground.run_playground import LibrdkafkaMock
from kwcli.reading.run_reading import ReadingRun
from kwcli.reading.sinks.filter_sort_and_limit_rows import ReadingView
from kwcli.replay import replay_requests_in_time as running
from kwcli.replay.recorded_requests import AllowedChanges, RecordedRequest, ReplayRecording
from kwcli.replay.replay_requests_in_time import ReplaySettings
from kwcli.replay.replayed_client import ReplayOutcome
from kwcli.run_environment import Exit
from tests.calling.scripted import LOGIN_VERSIONS, PLAIN_LOGIN, Node, logins, metadata
from tests.cli.worlds import kw, world
from tests.net.responder import unheard_address

ROOT: Final = Path(__file__).resolve().parents[2]
TOUR: Final = str(ROOT / "captures" / "tour.pcapng")
SCHEMAS: Final = ROOT / "decoders" / "messages"
EXCHANGE: Final = jsonschema.Draft202012Validator(json.loads((SCHEMAS / "record.schema.json").read_bytes()))
COUNTS: Final = jsonschema.Draft202012Validator(json.loads((SCHEMAS / "replay.schema.json").read_bytes()))


def rows(text: str) -> list[dict[str, Any]]:
    """The records of NDJSON, each valid by its schema."""
    found: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
    for row in found:
        (EXCHANGE if row["kind"] == "exchange" else COUNTS).validate(row)
    return found


def test_a_dry_run_lists_everything_with_why_not() -> None:
    outcome = kw("replay", TOUR, "--dry-run", "-q")
    assert outcome.code == Exit.DONE
    found = rows(outcome.out)
    assert len(found) == 193
    assert {row["status"] for row in found} == {"not_sent"}
    reasons = Counter(row["comparison"]["reason"] for row in found)
    assert reasons == {None: 146, "data": 42, "admin": 5}
    assert {row["api"] for row in found if row["comparison"]["reason"] is None} == {
        *("ApiVersions", "Metadata", "FindCoordinator", "OffsetFetch", "ListOffsets", "Fetch")
    }


def test_a_dry_run_says_in_text_what_is_left_out() -> None:
    outcome = kw("replay", TOUR, "--dry-run", "-o", "text")
    assert len(outcome.out.splitlines()) == 193
    assert "kw: 146 requests would be asked again" in outcome.err
    assert "kw: 42 not asked: change data (--changes data)" in outcome.err


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("changes", "asked"),
    [("data", 188), ("admin:create_topics", 149), ("data,admin:create_topics,DeleteTopics", 192)],
)
def test_changes_are_asked_by_their_names(changes: str, asked: int) -> None:
    found = rows(kw("replay", TOUR, "--dry-run", "--changes", changes).out)
    assert sum(row["comparison"]["reason"] is None for row in found) == asked


@pytest.mark.long
def test_logins_are_never_asked() -> None:
    capture = str(ROOT / "captures" / "sasl-framed.pcapng")
    found = rows(kw("replay", capture, "--dry-run", "--changes", "data").out)
    never = {row["api"] for row in found if row["comparison"]["reason"] == "never"}
    assert never == {"SaslHandshake", "SaslAuthenticate"}
    raw = str(ROOT / "captures" / "sasl-raw.pcap")
    tokens = [row for row in rows(kw("replay", raw, "--dry-run").out) if row["api"] is None]
    assert tokens
    assert {row["comparison"]["reason"] for row in tokens} == {"never"}


@pytest.mark.long
def test_what_brokers_say_to_each_other_is_never_asked() -> None:
    capture = str(ROOT / "captures" / "three-nodes.pcapng.zst")
    found = rows(kw("replay", capture, "--dry-run", "--changes", "data").out)
    asked = Counter(row["api"] for row in found if row["comparison"]["reason"] is None)
    assert {"Vote", "BrokerHeartbeat", "BrokerRegistration"} & set(asked) == set()
    assert asked["Metadata"] > 0
    steps = rows(kw("replay", str(ROOT / "captures" / "first-steps.pcapng"), "--dry-run").out)
    # Broker 1 asks its own controller for versions, too.
    own = [row["comparison"]["reason"] for row in steps if row["client_id"] == "1" and row["api"] == "ApiVersions"]
    assert own == ["never"] * 3


def test_the_filters_of_sniff_choose() -> None:
    found = rows(kw("replay", TOUR, "--dry-run", "--client-id", "billing-*", "--api", "fetch").out)
    assert len(found) == 26
    assert {row["client_id"] for row in found} == {"billing-1"}


def test_a_recording_without_its_secrets_or_records_says_what_it_cannot_ask(tmp_path: Path) -> None:
    chosen = ("--api", "IncrementalAlterConfigs,Produce")
    changes = ("--changes", "data,admin:incremental_alter_configs")

    def reasons(*options: str) -> Counter[Any]:
        file = tmp_path / "tour.ndjson"
        file.write_text(kw("sniff", TOUR, *chosen, *options, "-o", "ndjson").out)
        return Counter(row["comparison"]["reason"] for row in rows(kw("replay", str(file), "--dry-run", *changes).out))

    assert reasons("--records", "--reveal-secrets") == {None: 15}
    hidden = reasons()
    assert hidden["left_out"] == 14
    shown = kw("sniff", TOUR, "--api", "IncrementalAlterConfigs", "-o", "ndjson").out
    assert hidden["redacted"] == ('"redacted"' in shown)


def test_secrets_of_a_capture_are_asked_and_not_shown(tmp_path: Path) -> None:
    capture = str(ROOT / "captures" / "first-steps.pcapng")
    chosen = ("--api", "AlterUserScramCredentials", "--changes", "admin:alter_user_scram_credentials", "--dry-run")
    found = rows(kw("replay", capture, *chosen).out)
    asked = [row for row in found if row["comparison"]["reason"] is None]
    assert asked
    assert {row["comparison"]["reason"] for row in found} == {None, "never"}  # requests inside an Envelope
    for row in asked:
        for change in row["request"]["upsertions"]:
            assert "redacted" in change["salted_password"]
    file = tmp_path / "hidden.ndjson"
    file.write_text(kw("sniff", capture, "--api", "AlterUserScramCredentials", "-o", "ndjson").out)
    hidden = rows(kw("replay", str(file), *chosen).out)
    assert "redacted" in {row["comparison"]["reason"] for row in hidden}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "give capture files, or - for standard input"),
        ((TOUR, "--speed", "0"), "--speed '0': a number above 0"),
        ((TOUR, "--speed", "fast"), "--speed 'fast': a number above 0"),
        ((TOUR, "--map", "orders"), "--map 'orders': write TOPIC=TOPIC"),
        ((TOUR, "--map", "node:1=2"), "--map 'node:1=2': write TOPIC=TOPIC"),
        ((TOUR, "--map", "a=b,a=c"), "a is b already"),
        ((TOUR, "--changes", "everything"), "--changes 'everything': there are data and admin:API"),
        ((TOUR, "--changes", "admin:fetch"), "Fetch is of the class read, not admin; it changes nothing"),
        ((TOUR, "--changes", "admin:produce"), "Produce is of the class data, not admin; say --changes data for it"),
        ((TOUR, "--changes", "admin:vote"), "Vote is of the class never, not admin; it is never sent"),
        ((TOUR, "--changes", "admin:create_topcis"), "CreateTopics"),
        ((TOUR, "-o", "csv"), "csv"),
        ((TOUR, "--bootstrap-controller", "127.0.0.1:1"), "kw replay sends to brokers"),
    ],
)
def test_wrong_words_are_told_before_anything_is_read(words: tuple[str, ...], said: str) -> None:
    outcome = kw("replay", *words)
    assert outcome.code == Exit.USAGE
    assert said in outcome.err
    assert outcome.out == ""


def test_a_cluster_that_is_not_there_is_told() -> None:
    with unheard_address() as (_, port):
        outcome = kw("replay", TOUR, "-b", f"127.0.0.1:{port}", "--timeout", "60", "-q")
    assert outcome.code == Exit.UNREACHABLE
    assert f"127.0.0.1:{port}" in outcome.err


@pytest.fixture(scope="module")
def mock() -> Iterator[str]:
    """librdkafka's mock cluster, with other node ids and addresses than the recorded ones."""
    pytest.importorskip("confluent_kafka")
    with LibrdkafkaMock(2) as cluster:
        yield cluster.bootstrap()


def test_answers_of_another_cluster_are_compared(mock: str) -> None:
    words = ("--api", "ApiVersions,Metadata,FindCoordinator", "--client-id", "web-1,billing-1,report-1")
    outcome = kw("replay", TOUR, "-b", mock, "--speed", "max", *words)
    *found, counts = rows(outcome.out)
    assert outcome.code == Exit.FINDINGS
    assert counts["kind"] == "replay"
    # The mock has no internal topic, and a look-up of a coordinator could create one.
    unasked = [row for row in found if row["status"] == "not_sent"]
    assert {(row["api"], row["comparison"]["reason"]) for row in unasked} == {("FindCoordinator", "no_coordinators")}
    assert [(each["reason"], each["count"]) for each in counts["not_asked"]] == [("no_coordinators", len(unasked))]
    found = [row for row in found if row not in unasked]
    assert counts["asked"] == len(found) == 11
    assert Counter(row["comparison"]["verdict"] for row in found) == counts["verdicts"]
    versions = [row for row in found if row["api"] == "ApiVersions"]
    assert {row["comparison"]["verdict"] for row in versions} == {"different"}
    assert all(row["broker"] in mock for row in found)
    assert {row["client_id"] for row in found} == {"web-1", "billing-1", "report-1"}
    raised = [row for row in found if row["comparison"]["recorded"]["api_version"] == 0 and row["api"] == "Metadata"]
    assert raised
    assert all(row["api_version"] >= 4 for row in raised)
    asked = [row["request"] for row in found if row["api"] == "Metadata"]
    assert {each["allow_auto_topic_creation"] for each in asked} == {False}


def test_what_a_recording_hides_is_named(mock: str, tmp_path: Path) -> None:
    file = tmp_path / "tour.ndjson"
    file.write_text(kw("sniff", TOUR, "--api", "Produce,Metadata", "--client-id", "web-1", "-o", "ndjson").out)
    outcome = kw("replay", str(file), "-b", mock, "--changes", "data", "--speed", "max", "-o", "text")
    named = [line for line in outcome.out.splitlines() if " not asked " in line]
    assert len(named) == 3
    assert all("Produce 7  topic_data[0].partition_data[0].records" in line for line in named)
    assert "kw: 3 not asked: lack their records (write them with --records, or give the capture)" in outcome.err


def test_text_tells_what_differs_once(mock: str) -> None:
    words = ("--api", "ApiVersions", "--client-id", "billing-1", "--speed", "max", "-o", "text")
    outcome = kw("replay", TOUR, "-b", mock, *words)
    lines = outcome.out.splitlines()
    assert sum("DIFFERENT" in line for line in lines) == 5
    assert sum(line.startswith("    as ApiVersions 0 at 17:34:56.") for line in lines) == 4
    assert any(line.startswith("    Produce ") for line in lines)
    assert "kw: 5 requests asked again: 5 different" in outcome.err


def test_a_table_has_a_line_for_each_request(mock: str) -> None:
    outcome = kw(
        "replay", TOUR, "-b", mock, "--api", "Metadata", "--client-id", "web-1", "--speed", "max", "-o", "table"
    )
    head, line = outcome.out.splitlines()
    assert head.split() == ["time", "verdict", "recorded", "new", "client", "api", "what"]
    assert "Metadata 6" in line


def test_differences_are_coloured_where_that_is_wanted(mock: str) -> None:
    words = ("--api", "ApiVersions", "--client-id", "web-1", "--speed", "max", "-o", "text")
    plain, painted = (kw("replay", TOUR, "-b", mock, *words, "--color", when).out for when in ("never", "always"))
    assert "\x1b" not in plain
    assert "\x1b[" in painted.splitlines()[0].partition("DIFFERENT")[0]


@pytest.mark.long
def test_records_that_kw_wrote_ask_the_same_as_the_capture(tmp_path: Path) -> None:
    file = tmp_path / "tour.ndjson"
    file.write_text(kw("sniff", TOUR, "--records", "--reveal-secrets", "-o", "ndjson").out)
    captured, written = (recorded("data", "admin:create_topics", file=name).requests for name in (TOUR, str(file)))
    wrong: list[str] = []
    for one, other in zip(captured, written, strict=True):
        assert (one.exchange.time_ns, one.exchange.api_key) == (other.exchange.time_ns, other.exchange.api_key)
        if one.problem is not None or other.problem is not None:
            assert one.problem is not None
            assert other.problem is not None
            assert one.problem.reason == other.problem.reason
        elif one.api_key != PRODUCE and one.data != other.data:
            wrong.append(f"{one.exchange.api} {one.version}")
        elif one.decode_body().keys() != other.decode_body().keys():
            wrong.append(f"{one.exchange.api} {one.version}: fields")
    assert wrong == []
    assert len(captured) == 193


# The order of requests, with a cluster that answers at any time.


def recorded(*changes: str, file: str = TOUR) -> ReplayRecording:
    env = world()
    recording = ReplayRecording(AllowedChanges.parse_words(changes))
    view = ReadingView(lambda _key, _side: frozenset(), lambda _write: recording)
    sniffing = ReadingRun(
        env,
        Settings(format="ndjson", quiet=True),
        CaptureOptions((file,)),
        FilterOptions(),
        view=view,
    )
    sniffing.run()
    return recording


class Stage:
    """A stand-in for a client: records when each request was sent and answered, and takes a different time for each."""

    def __init__(self) -> None:
        self.events: list[tuple[str, RecordedRequest]] = []
        self.lock = threading.RLock()

    def client(self, _shared: object, _client_id: str | None) -> Stage:
        return self

    def replay_request(self, request: RecordedRequest) -> ReplayOutcome:
        with self.lock:
            self.events.append(("asked", request))
        time.sleep((request.exchange.correlation_id or 0) % 5 / 1000)
        with self.lock:
            self.events.append(("answered", request))
        return ReplayOutcome(request, None, "same")

    def close_connections(self) -> None:
        """Do nothing: no connection is open."""


@pytest.mark.parametrize("most", [1, 256])
def test_nothing_that_changes_something_overtakes_what_its_client_knew(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    class Shared:
        lock = threading.RLock()

        class target:  # noqa: N801  # an attribute
            class config:  # noqa: N801  # an attribute
                timeout_s = 30.0

    stage = Stage()
    monkeypatch.setattr(running, "ReplayedClient", stage.client)
    monkeypatch.setattr(running, "THREADS_MAX", most)
    recording = recorded("data", "admin:create_topics")
    settings = ReplaySettings(AllowedChanges.parse_words(["data", "admin:create_topics"]), NameMap(), None)
    shown: list[ReplayOutcome] = []
    run = running._ReplayRun(world(), recording.requests, Shared(), settings, shown.append)  # type: ignore[arg-type]  # what is used of it
    assert run.replay_all() is False
    assert run.counts.asked == len(shown) == 191
    assert run.counts.overtaken == 0
    assert [worker.clients for worker in run._workers] == [0] * len(run._workers)  # each client is given back
    answered: set[int] = set()
    known = [request for request in recording.requests if request.problem is None and request.ended_ns is not None]
    for what, request in stage.events:
        if what == "answered":
            answered.add(id(request))
            continue
        begun = request.exchange.time_ns
        early = [each for each in known if each.ended_ns < begun and id(each) not in answered]  # type: ignore[operator]  # it has one
        assert early == []
    order = Counter[object]()
    for what, request in stage.events:
        order[request.client_identity] += 1 if what == "asked" else -1
        assert order[request.client_identity] <= 1, "two requests of a client at a time"


def test_a_login_that_cannot_be_renewed_is_not_taken_for_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker_session, "RENEW_AFTER", 0)  # before the next request
    file = tmp_path / "one.ndjson"
    file.write_text(kw("sniff", TOUR, "--api", "Metadata", "-n", "1", "-o", "ndjson").out)
    # The first login is that of the look-ups; the second one, of the replayed client, ends at once.
    with Node({**LOGIN_VERSIONS, METADATA: (0, 12)}, logins([0, 1])) as node:
        node.answers = {**node.answers, METADATA: metadata(node)}
        outcome = kw("replay", str(file), *PLAIN_LOGIN, "-b", node.server)
    (row, _) = rows(outcome.out)
    assert (row["api"], row["status"], row["comparison"]["verdict"]) == ("Metadata", "not_sent", "refused")
    assert "the password has changed" in row["comparison"]["text"]
