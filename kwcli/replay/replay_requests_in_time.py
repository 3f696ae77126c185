"""The requests of a recording in, each asked of the other cluster when its time comes; outcomes out.

The problem. Clients ask side by side, and a request may depend on those of other clients: a topic is created before it
is produced to, a member joins while the others wait for it. When answers take other times than in the recording, a
request must neither overtake requests that it depends on, nor wait for requests that wait for it.

The idea. Each recorded connection is a client (replayed_client.py) with a thread of its own, so that a request that
waits at a broker holds up no other one. One dispatcher hands requests to clients in the order of their recorded times,
at the speed that was asked for. Where changes are allowed, a request is also held until all requests have been answered
that were answered before it in the recording: what its client may have known is true again.

```
recording   A ──────┤          C knew A's answer, and not B's
            B ───────────────┤
            C        ├───┤
replay      A ─────────────┤C ───┤     B may take as long as it likes
            B ──────────────────────────┤
```

What always holds: at most THREADS_MAX threads, so that with more clients than that some wait for others; a request that
is held longer than the time-out is let go, and counted. What is given up: requests that a client pipelined on one
connection are asked one after the other.
"""

from __future__ import annotations

import queue
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final

from decoders.named_tuple import NamedTuple
from decoders.replaying.classify_apis_for_replay import CLASSES
from decoders.replaying.id_map import IdMap, NameMap, NotReplayable, match_nodes
from kwcli.calling.pair_sent_and_received import ExchangeBuilder
from kwcli.replay.recorded_requests import AllowedChanges, RecordedRequest, ReplayRecording
from kwcli.replay.replayed_client import ReplayContext, ReplayedClient, ReplayOutcome
from kwcli.replay.target_cluster import ReplayTarget
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from kwcli.net.config.client_config import ClientConfig
    from kwcli.run_environment import Environment

__all__ = ["ReplayCounts", "ReplaySettings", "replay_recording", "show_requests_without_sending"]

# How many clients do not wait for each other.
THREADS_MAX: Final = 256
# How often (s) the dispatcher looks for outcomes, while no request is due.
_LOOK_S: Final = 0.05


class ReplaySettings(NamedTuple):
    """How to ask. `speed` None: as fast as possible. `client_id` None: as in the recording."""

    allowed: AllowedChanges
    names: NameMap
    speed: float | None = 1.0
    client_id: str | None = None


class ReplayCounts:
    """The counts of all requests of a replay."""

    def __init__(self) -> None:
        self.asked = 0
        self.verdicts: Counter[str] = Counter()
        self.problems: Counter[str] = Counter()  # reason → requests that were not asked
        self.texts: dict[str, str] = {}  # reason → text of the first such request
        self.overtaken = 0  # asked before an answer that came earlier in the recording
        self.late_s = 0.0  # how far the replay was behind, at most

    def count_outcome(self, outcome: ReplayOutcome) -> None:
        """Count an outcome."""
        if outcome.problem is not None:
            self.count_unsent(outcome.problem)
        else:
            self.asked += 1
            self.verdicts[outcome.verdict or ""] += 1

    def count_unsent(self, problem: NotReplayable) -> None:
        """Count a request that is not asked."""
        self.problems[problem.reason] += 1
        self.texts.setdefault(problem.reason, problem.text)

    @property
    def has_differences(self) -> bool:
        """Whether an answer is different from the recorded one, or a request was refused."""
        return bool(self.verdicts["different"] or self.verdicts["refused"])


Show = Callable[[ReplayOutcome], None]


def show_requests_without_sending(recording: ReplayRecording, show: Show) -> ReplayCounts:
    """Show what would be asked, without asking; the counts."""
    counts = ReplayCounts()
    for request in recording.requests:
        outcome = ReplayOutcome(request, None, None, problem=request.problem)
        show(outcome)
        if request.problem is not None:
            counts.count_unsent(request.problem)
        else:
            counts.asked += 1
    return counts


def replay_recording(
    env: Environment, recording: ReplayRecording, config: ClientConfig, settings: ReplaySettings, show: Show
) -> tuple[ReplayCounts, bool]:
    """Ask all requests that may be asked; the counts, and whether Ctrl-C ended the replay. Raises Failure."""
    target = ReplayTarget(env, config, creates=settings.allowed.data)
    nodes = match_nodes(set(recording.nodes.values()), target.nodes)
    ids = IdMap(settings.names, nodes, target.cluster_id)
    ids.node_count = len(target.nodes)
    ids.topic_named = recording.topics.get
    ids.topic_id = target.find_topic_id
    ids.topic_named_there = lambda identity: target.topic_names.get(identity)
    brokers = {address: nodes[node] for address, node in recording.nodes.items() if node in nodes}
    shared = ReplayContext(env, target, ids, ExchangeBuilder(), brokers, settings.client_id)
    run = _ReplayRun(env, recording.requests, shared, settings, show)
    try:
        return run.counts, run.replay_all()
    finally:
        shared.over.set()
        target.close()


class _ReplayTask(NamedTuple):
    """A request and the client that sends it; `last`: the client has no other."""

    number: int
    request: RecordedRequest
    client: ReplayedClient
    last: bool


class _ReplayWorker:
    """A thread for one client, or for several where there are more clients than threads."""

    def __init__(self, env: Environment, results: queue.SimpleQueue[tuple[_ReplayTask, ReplayOutcome]]) -> None:
        self._env = env
        self.clients = 0
        self.tasks: queue.SimpleQueue[_ReplayTask | None] = queue.SimpleQueue()
        self._results = results
        threading.Thread(target=self._run_tasks, daemon=True).start()

    def _run_tasks(self) -> None:
        while (task := self.tasks.get()) is not None:
            try:
                outcome = task.client.replay_request(task.request)
            except Exception as defect:  # else the thread would end, and the replay wait for ever
                outcome = ReplayOutcome(
                    task.request, None, "uncompared", f"a defect: {type(defect).__name__}: {defect}"
                )
                if self._env.debug:
                    for line in traceback.format_exc().splitlines():
                        self._env.report(line)
            if task.last:
                task.client.close_connections()
            self._results.put((task, outcome))


class _ReplayRun:
    """One run of a replay: the dispatcher."""

    def __init__(
        self,
        env: Environment,
        requests: Sequence[RecordedRequest],
        shared: ReplayContext,
        settings: ReplaySettings,
        show: Show,
    ) -> None:
        self.counts = ReplayCounts()
        self._env = env
        self._shared = shared
        self._settings = settings
        self._show = show
        for request in requests:
            if request.problem is not None:
                self.counts.count_unsent(request.problem)
                if request.problem.reason not in CLASSES:
                    show(ReplayOutcome(request, None, None, problem=request.problem))
        self._requests = [request for request in requests if request.problem is None]
        self._left = Counter(request.client_identity for request in self._requests)
        self._workers: list[_ReplayWorker] = []
        self._clients: dict[tuple[int, str | None], tuple[_ReplayWorker, ReplayedClient]] = {}
        self._results: queue.SimpleQueue[tuple[_ReplayTask, ReplayOutcome]] = queue.SimpleQueue()
        self._begun: float | None = None
        self._begun_ns = 0
        self._waiting: list[tuple[int, int]] = []  # recorded end and number of each asked request, soonest first
        self._answered: set[int] = set()
        self._back = 0

    def replay_all(self) -> bool:
        """Ask all requests; whether Ctrl-C ended that."""
        try:
            for number, request in enumerate(self._requests):
                self._wait_until_due(request)
                if self._settings.allowed.allows_changes:
                    self._wait_for_earlier_answers(request)
                self._send_to_worker(number, request)
            while self._back < len(self._requests):
                self._count_next_result(_LOOK_S)
        except KeyboardInterrupt:
            return True
        finally:
            for worker in self._workers:
                worker.tasks.put(None)
        return False

    def _wait_until_due(self, request: RecordedRequest) -> None:
        speed = self._settings.speed
        self._count_waiting_results()
        if speed is None:
            return
        if self._begun is None:
            self._begun = self._env.monotonic()
            self._begun_ns = request.exchange.time_ns
        due = self._begun + (request.exchange.time_ns - self._begun_ns) / 1e9 / speed
        while (left := due - self._env.monotonic()) > 0:
            self._count_next_result(min(left, _LOOK_S))
        self.counts.late_s = max(self.counts.late_s, -left)

    def _wait_for_earlier_answers(self, request: RecordedRequest) -> None:
        """Wait until all requests are answered whose recorded answers came before this request, or the time is up."""
        end = self._env.monotonic() + self._shared.target.config.timeout_s
        while self._waiting and self._waiting[0][0] <= request.exchange.time_ns:
            if self._waiting[0][1] in self._answered:
                heappop(self._waiting)
            elif self._env.monotonic() >= end:
                heappop(self._waiting)
                self.counts.overtaken += 1
            else:
                self._count_next_result(_LOOK_S)

    def _send_to_worker(self, number: int, request: RecordedRequest) -> None:
        key = request.client_identity
        if key not in self._clients:
            self._clients[key] = self._choose_worker(), ReplayedClient(self._shared, request.exchange.client_id)
        worker, client = self._clients[key]
        ended = request.ended_ns
        if ended is not None:
            heappush(self._waiting, (ended, number))
        self._left[key] -= 1
        worker.tasks.put(_ReplayTask(number, request, client, not self._left[key]))

    def _choose_worker(self) -> _ReplayWorker:
        """A worker without a client, else a new one, else the one with the fewest clients."""
        found = min(self._workers, key=lambda worker: worker.clients, default=None)
        if found is None or (found.clients and len(self._workers) < THREADS_MAX):
            found = _ReplayWorker(self._env, self._results)
            self._workers.append(found)
        found.clients += 1
        return found

    def _count_waiting_results(self) -> None:
        while not self._results.empty():
            self._count_next_result(0.0)

    def _count_next_result(self, wait_s: float) -> None:
        try:
            task, outcome = self._results.get(timeout=wait_s) if wait_s else self._results.get_nowait()
        except queue.Empty:
            return
        self._back += 1
        self._answered.add(task.number)
        if task.last:
            worker, _ = self._clients.pop(task.request.client_identity)
            worker.clients -= 1
        self.counts.count_outcome(outcome)
        with self._shared.lock:
            self._show(outcome)


def choose_exit_code(counts: ReplayCounts, *, interrupted: bool) -> Exit:
    """The exit code of a replay."""
    if interrupted:
        return Exit.INTERRUPTED
    return Exit.FINDINGS if counts.has_differences else Exit.DONE


def parse_speed(word: str) -> float | None:
    """The speed of --speed: `1`, `10`, `0.5`, `10x`; None for `max`. Raises Failure (usage)."""
    if word == "max":
        return None
    try:
        speed = float(word.removesuffix("x"))
    except ValueError:
        speed = 0.0
    if not 0 < speed < float("inf"):
        raise Failure(f"--speed {word!r}: a number above 0 (10: ten times as fast), or max", Exit.USAGE)
    return speed


def parse_name_map(words: Sequence[str]) -> NameMap:
    """The names of --map: `a=b` for topics, `group:a=b`, `transaction:a=b`. Raises Failure (usage)."""
    kinds: dict[str, dict[str, str]] = {"topic": {}, "group": {}, "transaction": {}}
    for word in words:
        old, equals, new = word.partition("=")
        kind, colon, name = old.rpartition(":")
        found = kinds.get(kind if colon else "topic")
        if not equals or not name or not new or found is None:
            text = f"--map {word!r}: write TOPIC=TOPIC, group:NAME=NAME or transaction:ID=ID"
            raise Failure(text, Exit.USAGE)
        if found.setdefault(name, new) != new:
            raise Failure(f"--map {word!r}: {name} is {found[name]} already", Exit.USAGE)
    return NameMap(kinds["topic"], kinds["group"], kinds["transaction"])
