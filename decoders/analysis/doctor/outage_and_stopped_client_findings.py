"""Observations in, findings out about brokers that are gone, and about clients that ask in a loop or stop asking."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from operator import itemgetter
from typing import Any, Final

from decoders.analysis.doctor.diagnosis_input import (
    LISTED,
    MS,
    NS,
    OWN_CLIENT_ID,
    Case,
    Found,
    escape_for_sentence,
    format_advertised_address,
    format_clock,
    merge_observations,
    most_frequent_clients,
    name_of_api_key,
    rate_per_second,
)
from decoders.analysis.doctor.finding_kinds import FINDINGS, TOO_FEW_REPLICAS
from decoders.analysis.doctor.groups.member_findings import list_stranded_members
from decoders.analysis.doctor.moves.outage_times import widen_outage
from decoders.analysis.doctor.observations import Observation, sort_names_by_count
from decoders.analysis.exchange_facts import GATHERINGS
from decoders.analysis.read_dimension_values import host_of
from decoders.limits import NAMES_OBSERVED_MAX
from decoders.wire.format_and_escape_text import describe_duration

__all__ = ["ABSENCES"]


def _find_absent_brokers(case: Case) -> Iterator[Found]:
    """Nodes that brokers list at one time and not at another, or that replicas name and no broker lists."""
    listing = case.seen.get_observation("listing")
    if listing is None:
        return
    listed: dict[int, list[Observation]] = defaultdict(list)
    addresses: dict[int, str] = {}
    for (_, number, host, port), seen in case.seen.items_of_kind("advertised"):
        listed[number].append(seen)
        addresses[number] = format_advertised_address(host, port)
    absent = {number: seen for (number,), seen in case.seen.items_of_kind("gone")}
    refusing = dict(_gather_refusing_nodes(case))
    refusals = _gather_refusals(case)
    for number in sorted({*listed, *absent}):
        present, gone = merge_observations(listed[number]), absent.get(number)
        if gone is not None and gone.last > present.last:
            # Brokers name it as a replica alone, up to the last answer about its partitions.
            before = gone.first <= listing.first
            whole = merge_observations([gone])
            if number in refusing:
                # Clients are refused before a controller has fenced it, and after they last asked for a list.
                whole.first = min(gone.first, refusing[number].first)
                whole.last = max(gone.last, refusing[number].last)
            yield _make_gone_or_back_finding(case, number, addresses, whole, refusals[number], before=before)
        elif gone is not None:
            before = not present.count or present.first > gone.first
            absence = merge_observations([gone])
            refused = widen_outage(absence, refusals[number], _answered_seconds_of_node(case, number))
            found = _make_absence_finding(case, "broker-back", number, addresses, absence, before=before)
            if refused:
                found.values["state"] = _REFUSED
            yield found
        elif present.first > listing.first and _are_replicas_missing(case, listing.first, present.first):
            absence = merge_observations([listing])
            absence.last = present.first
            yield _make_absence_finding(case, "broker-back", number, addresses, absence, before=True)


def _make_gone_or_back_finding(
    case: Case, number: int, addresses: dict[int, str], gone: Observation, refusals: list[Observation], *, before: bool
) -> Found:
    """A node that no answer lists any more: it is gone, or back where it refused connections and answers again."""
    answers, outage = _answered_seconds_of_node(case, number), merge_observations([gone])
    refused = widen_outage(outage, refusals, answers)
    heard = max(answers.list_marked_seconds(), default=0)
    if refused and heard >= outage.last // NS > outage.first // NS:
        found = _make_absence_finding(case, "broker-back", number, addresses, outage, before=before)
        found.values["state"] = _REFUSED
        return found
    return _make_absence_finding(case, "broker-gone", number, addresses, gone, before=before)


# What a broker did that was not listed for a while, where connections to it were refused meanwhile.
_REFUSED: Final = "connections to it were refused meanwhile, so that likely its process had ended and was started again"


def _gather_refusals(case: Case) -> defaultdict[int, list[Observation]]:
    """Node → the connections that it refused, at any of its addresses."""
    found: defaultdict[int, list[Observation]] = defaultdict(list)
    for (_, address, how), seen in case.seen.items_of_kind("no-entry"):
        number = case.nodes.get(address, case.nodes.get(host_of(address)))
        if how == "refused" and number is not None:
            found[number].append(seen)
    return found


def _are_replicas_missing(case: Case, begin_ns: int, end_ns: int) -> bool:
    """Whether writes failed for want of replicas, or partitions lacked some, between two times."""
    found = [
        *(seen for (code, *_), seen in case.seen.items_of_kind("error") if code in TOO_FEW_REPLICAS),
        *(seen for kind in ("short", "offline") for _, seen in case.seen.items_of_kind(kind)),
    ]
    return any(seen.first <= end_ns and seen.last >= begin_ns for seen in found)


def _make_absence_finding(
    case: Case, kind: str, number: int, addresses: dict[int, str], gone: Observation, *, before: bool
) -> Found:
    places, alone = (sort_names_by_count(gone.names.get(name, {})) for name in ("places", "alone"))
    about: dict[str, Any] = {
        "node_id": number,
        "address": addresses.get(number),
        "clients": most_frequent_clients(gone) or None,
    }
    about["at"] = f" ({addresses[number]})" if number in addresses else None
    is_captured = any(packet is not None for *_, packet, _ in gone.evidence)  # not a look at the cluster itself
    about["since"] = " since before the capture" if before and is_captured else None
    about["partitions_of_node"] = alone + places
    words = [f"the only replica of {escape_for_sentence(alone)}"] if alone else []
    if places:
        words.append(f"{'one' if alone else 'a replica'} of {escape_for_sentence(places)}")
    about["places"] = f"; {', and '.join(words)} is there" if words else None
    if kind == "broker-back":
        took = gone.last - gone.first
        # What lies between the last answer without it and the next with it is not known.
        about["state"] = "it restarted, or was cut off or fenced for a while"
        about["until"] = f"{', and' if before else ''} for at least {describe_duration(took / MS)}"
    return case.make_finding(kind, gone, **about)


def _gather_refusing_nodes(case: Case) -> Iterator[tuple[int, Observation]]:
    """Nodes that had answered, then refuse connections there and answer nobody up to the end of the capture."""
    refused: dict[int, list[Observation]] = defaultdict(list)
    left: set[int] = set()
    for (_, address, how), seen in case.seen.items_of_kind("no-entry"):
        number = case.nodes.get(address, case.nodes.get(host_of(address)))
        if how == "refused" and number is not None:
            refused[number].append(seen)
            if case.seen.get_observation("answered", address) is not None:
                left.add(number)
    for number, some in refused.items():
        if number not in left:
            continue  # what is advertised may be wrong, and the node well
        answers = list(_answered_seconds_of_node(case, number).list_marked_seconds())
        whole = merge_observations(some)
        # The node may have answered in the second in which it ended.
        if answers and answers[-1] <= whole.first // NS:
            yield number, whole


def _find_restarting_brokers(case: Case) -> Iterator[Found]:
    """Nodes that refuse connections, answer again, and refuse them again: their processes end and are started anew."""
    refusals = _gather_refusals(case)
    active = _gather_requests_sent_by_nodes(case) if refusals else {}
    for number, some in refusals.items():
        down = {second for seen in some for second in seen.list_marked_seconds()}
        heard = [_answered_seconds_of_node(case, number), *active.get(str(number), ())]
        runs = _list_crash_loops(
            _list_outages(down, {second for seen in heard for second in seen.list_marked_seconds()})
        )
        if not runs:
            continue
        outages = [outage for run in runs for outage in run]
        whole = merge_observations(some)
        whole.count = len(outages)
        whole.first, whole.last = outages[0][0] * NS, outages[-1][1] * NS
        whole.evidence = [its for its in whole.evidence if its[0] >= whole.first]
        times = [f"{format_clock(begin * NS)[:8]} for {_describe_seconds(begin, end)}" for begin, end in outages]
        pauses = [after - end for run in runs for (_, end), (after, _) in pairwise(run)]
        about: dict[str, Any] = {"times": f"{len(outages):,}", **_make_node_facts(case, number)}
        about["outages"] = ", ".join(times[:LISTED])
        least, most = (describe_duration(find(pauses) * 1000) for find in (min, max))
        about["up"] = least if least == most else f"{least} to {most}"
        over = case.last // NS - outages[-1][1] > max(pauses)
        kind = FINDINGS["broker-restarts"]
        yield Found("broker-restarts", kind.went_on if over else kind.severity, whole, about)


# Twice is a planned restart that was repeated.
_RESTARTS_LEAST: Final = 3
# A process that ends soon after its start was up for less; who restarts it on purpose waits until all is well.
_UP_MOST_S: Final = 300
# A node opens its listeners one after the other, within so many seconds.
_STARTING_S: Final = 3
# What a node calls itself where it is a client of other nodes.
_OWN_CLIENT_ID: Final = re.compile(r"raft-client-([0-9]+)|broker-([0-9]+)-fetcher-.*", re.DOTALL)


def _describe_seconds(begin: int, end: int) -> str:
    return f"{describe_duration((end - begin) * 1000)} or more" if end > begin else "a moment"


def _gather_requests_sent_by_nodes(case: Case) -> dict[str, list[Observation]]:
    """Node, as text → what was observed of it as a client of other nodes."""
    found: dict[str, list[Observation]] = defaultdict(list)
    for (client, host, _), seen in case.seen.items_of_kind("client"):
        own = _OWN_CLIENT_ID.fullmatch(client)
        if own is not None:
            found[own[1] or own[2]].append(seen)
        elif client.isdigit() and host in case.nodes:
            found[str(case.nodes[host])].append(seen)
    return found


def _list_crash_loops(outages: list[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """The runs of outages after each of which a node was up for a short while only: those of a crash loop."""
    runs: list[list[tuple[int, int]]] = []
    for outage in outages:
        if runs and outage[0] - runs[-1][-1][1] <= _UP_MOST_S:
            runs[-1].append(outage)
        else:
            runs.append([outage])
    return [run for run in runs if len(run) >= _RESTARTS_LEAST]


def _list_outages(down: set[int], active: set[int]) -> list[tuple[int, int]]:
    """The first and the last second of each span in which a node that was active refused connections, and was not.

    A second that has both is the end of one state and the begin of the other. While a node starts, one of its listeners
    may still refuse connections though it speaks with other nodes.
    """
    outages: list[tuple[int, int]] = []
    is_down = False
    begun = min(active, default=0)
    for second in sorted(second for second in down | active if second > begun):
        if second not in down:
            is_down = False
        elif is_down and second not in active:
            outages[-1] = outages[-1][0], second
        elif not is_down and outages and second - outages[-1][1] <= _STARTING_S:
            outages[-1] = outages[-1][0], second
            is_down = True
        elif not is_down:
            outages.append((second, second))
            is_down = True
        else:
            is_down = False
    return outages


def _find_downed_brokers(case: Case) -> Iterator[Found]:
    """Nodes that ended, as their machines refuse connections, and that brokers list as before, or nobody asked."""
    absent = {number for (number,), _ in case.seen.items_of_kind("gone")}
    for number, seen in _gather_refusing_nodes(case):
        if number in absent or seen.count < case.limits["unanswered.least"]:
            continue
        if seen.last - seen.first >= case.limits["silence.least"] * NS:
            yield case.make_finding("broker-down", seen, **_make_node_facts(case, number))


def _find_silent_brokers(case: Case) -> Iterator[Found]:
    """Nodes that answer nobody for a while, though requests of several clients wait that need no records or members."""
    if case.holes:
        return
    limits, nodes = case.limits, case.nodes
    least = int(limits["silence.least"])
    stuck: dict[int | str, dict[str, list[Observation]]] = defaultdict(lambda: defaultdict(list))
    for (client, broker), seen in case.seen.items_of_kind("stuck"):
        stuck[nodes.get(broker, broker)][client].append(seen)
    for node, by_client in stuck.items():
        answers = list(_answered_seconds_of_node(case, node).list_marked_seconds())
        if not answers:
            continue
        end = case.last // NS
        ends = max(end, answers[-1])
        pause, before = max((until - at - 1, at) for at, until in pairwise([*answers, ends]))
        until = before + pause + 1
        waits = {
            client: merge_observations(some)
            for client, some in by_client.items()
            if any(before <= second <= until - least for each in some for second in each.list_marked_seconds())
        }
        if pause < least or len(waits) < _SEVERAL or _is_refusing(case, node, before, until):
            continue
        whole = merge_observations(waits.values())
        whole.evidence = [its for its in whole.evidence if before * NS <= its[0] < until * NS]
        whole.first, whole.last = max(whole.first, before * NS), min(whole.last, until * NS)
        stays = until > answers[-1]
        facts = _make_node_facts(case, node)
        yield Found(
            "broker-silent",
            FINDINGS["broker-silent"].severity if stays else FINDINGS["broker-silent"].went_on,
            whole,
            {
                **facts,
                "clients": sorted(waits)[:LISTED],
                "span": f"more than {describe_duration(pause * 1000)}{', to the end of the capture' if stays else ''}",
                "waiting": f"{len(waits)} clients",
            },
        )


# With one client alone its own network may be to blame.
_SEVERAL: Final = 2


def _is_refusing(case: Case, node: int | str, before: int, until: int) -> bool:
    """Whether connections to a node were refused between two seconds: it does not run."""
    return any(
        how == "refused"
        and case.nodes.get(address, case.nodes.get(host_of(address), address)) == node
        and seen.first // NS <= until
        and seen.last // NS >= before
        for (_, address, how), seen in case.seen.items_of_kind("no-entry")
    )


def _answered_seconds_of_node(case: Case, node: int | str) -> Observation:
    """The seconds in which a node answered anything, at any of its addresses."""
    return case.compute_once(_gather_answers).get(node) or Observation()


def _gather_answers(case: Case) -> dict[int | str, Observation]:
    found: dict[int | str, list[Observation]] = defaultdict(list)
    for (broker,), seen in case.seen.items_of_kind("answered"):
        found[case.nodes.get(broker, case.nodes.get(host_of(broker), broker))].append(seen)
    return {node: merge_observations(some) for node, some in found.items()}


def _make_node_facts(case: Case, node: int | str) -> dict[str, Any]:
    """Who a node is, and the topics that have replicas there."""
    if isinstance(node, str):
        return {"address": node, "who": node}
    address = case.compute_once(_gather_addresses).get(node)
    topics = list(case.compute_once(_gather_topics_by_node).get(str(node), ()))
    who = f"node {node}" + (f" ({address})" if address else "")
    return {"node_id": node, "address": address, "who": who, "topics_of_node": topics}


def _gather_addresses(case: Case) -> dict[int, str]:
    """Node → the first of the addresses that brokers list it with."""
    found: dict[int, str] = {}
    for address, number in case.advertised.items():
        found.setdefault(number, address)
    return found


def _gather_topics_by_node(case: Case) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for (topic,), seen in case.seen.items_of_kind("topic"):
        for node in seen.names.get("nodes", ()):
            found[node].append(str(topic))
    return found


def _find_pending_requests(case: Case) -> Iterator[Found]:
    """Requests that still wait at the end of the capture, longer than they should: a client's oldest at each broker.

    Brokers answer each connection in order, so that others wait behind the oldest.
    """
    oldest: dict[tuple[str, str], tuple[int, int, Observation]] = {}
    unacknowledged: dict[tuple[str, str], set[str]] = defaultdict(set)
    for (client, _, broker), its in case.seen.items_of_kind("unacknowledged"):
        unacknowledged[client, broker] |= its.names.get("connections", {}).keys()
    for (client, broker, key), seen in case.seen.items_of_kind("pending"):
        waiting = seen.names.get("connections", {})
        if waiting and waiting.keys() <= unacknowledged[client, broker]:
            continue  # the broker never got them
        least = case.limits["gathering.least" if key in GATHERINGS else "pending.least"] * NS
        if case.last - seen.first >= least:
            oldest[client, broker] = min(
                oldest.get((client, broker), (_NEVER, 0, seen)), (seen.first, key, seen), key=itemgetter(0, 1)
            )
    for (client, broker), (_, key, seen) in oldest.items():
        about: dict[str, Any] = {"client": client, "clients": [client], "api": name_of_api_key(key), "broker": broker}
        groups, topics = (sort_names_by_count(seen.names.get(name, {})) for name in ("groups", "topics"))
        about["waited"] = describe_duration((case.last - seen.first) // NS * 1000)
        about["why"] = "the broker is stuck, or waits for another one"
        about["remedy"] = "look at the broker's log, and at the brokers that it waits for"
        if groups:
            about["group"] = groups[0]
            about["place"] = f" in group {escape_for_sentence(groups)}"
            about |= _describe_lost_member(case, groups[0], seen) or {"why": _WAITS_FOR_MEMBER}
        elif topics:
            about["topics"] = topics[:LISTED]
            about["place"] = f" to {escape_for_sentence(topics)}"
            about["why"] = (
                "if it asks for acks=all, the leader likely waits for replicas in sync that do not fetch from it"
            )
        yield case.make_finding("requests-pending", seen, **about)


_WAITS_FOR_MEMBER: Final = (
    "the group likely waits for a member that does not join again: one that died without leaving is waited for until"
    " its session times out"
)


def _describe_lost_member(case: Case, group: str, waiting: Observation) -> dict[str, str] | None:
    """Words for the member of a group that was heard last of those that neither left nor wait; None where none is."""
    pending = {member for _, seen in case.seen.items_of_kind("pending") for member in seen.names.get("members", ())}
    lost: list[tuple[int, int, str]] = []
    for (its, member), seen in case.seen.items_of_kind("alive"):
        last = max(seen.list_marked_seconds(), default=0)
        clients = sort_names_by_count(seen.names["clients"])
        left = [case.seen.get_observation("left", group, client) for client in clients]
        timeout_ms = seen.most.get("timeout", 0)  # 0: its JoinGroup is not in the capture
        if (
            its == group
            and timeout_ms > 0
            and member not in pending
            and last * NS <= waiting.first
            and last + 1 + timeout_ms / 1000 >= case.last / NS
            and not any(each is not None and each.last >= last * NS for each in left)
        ):
            lost.append((last, timeout_ms, clients[0]))
    if not lost:
        return None
    last, timeout, client = max(lost)
    name, patience = escape_for_sentence(client), describe_duration(timeout)
    return {
        "lost": f"; a member of {name} was heard last at {format_clock(last * NS)} and did not leave",
        "why": f"the group waits for that member, which likely died, until its session times out after {patience}",
        "remedy": "have programs close their consumers when they end; lower session.timeout.ms, or give each member a"
        " group.instance.id, with which it takes its place again at once",
    }


def _find_fetch_loops(case: Case) -> Iterator[Found]:
    """Clients that get empty answers at once and ask again at once."""
    limits = case.limits
    beyond: dict[tuple[str, str], list[tuple[str | None, int, Observation]]] = defaultdict(list)
    for (client, broker, topic, number), seen in case.seen.items_of_kind("beyond"):
        beyond[client, broker].append((topic, number, seen))
    for (client, broker), seen in case.seen.items_of_kind("empty"):
        rate = rate_per_second(seen, seen.count)
        if seen.count < limits["loop.fetches"] or rate < limits["loop.rate"]:
            continue
        about: dict[str, Any] = {"client": client, "client_id": client, "broker": broker, "rate": f"{rate:,.0f}"}
        about["why"] = "the client does not wait for records (fetch.max.wait.ms is 0 or very small), or asks for none"
        about["remedy"] = "raise fetch.max.wait.ms (500 ms by default); upgrade the client"
        most = max(beyond[client, broker], key=lambda its: its[2].count, default=None)
        if most is not None and 2 * most[2].count >= seen.count:
            topic, number, its = most
            about |= {"topic": topic, "partition": number}
            position, watermark = its.edges["position"][1][1], its.edges["watermark"][1][1]
            about["place"] = f": it reads {topic}-{number} at {position:,}, beyond the high watermark {watermark:,}"
            about["why"] = "a broker answers at once where the position is beyond the high watermark"
            about["remedy"] = (
                "bring the replicas of this partition back in sync, so that the high watermark moves; a client that"
                " kept the position of records that were lost (a truncated log) has to be reset or restarted"
            )
        yield case.make_finding("fetch-loop", seen, **about)


def _find_busiest_client(case: Case) -> Iterator[Found]:
    """A client that makes more than nine tenths of all exchanges."""
    by_client: dict[str, list[Observation]] = defaultdict(list)
    for (client, _, _), seen in case.seen.items_of_kind("client"):
        by_client[client].append(seen)
    total = sum(seen.count for some in by_client.values() for seen in some)
    if len(by_client.keys() - {OWN_CLIENT_ID}) < case.limits["busiest.clients"]:
        return
    for client, some in by_client.items():
        whole = merge_observations(some)
        rate = rate_per_second(whole, whole.count)
        if whole.count > case.limits["busiest.share"] * total and rate >= case.limits["busiest.rate"]:
            words = {"share": f"{whole.count / total:.0%}", "rate": f"{rate:,.0f}"}
            yield case.make_finding("busiest-client", whole, client=client, client_id=client, **words)


def _find_stopped_polls(case: Case) -> Iterator[Found]:
    """Members that left their group and went on running: max.poll.interval.ms was over.

    Java clients fetch nothing while their program does not poll; librdkafka fetches on, and joins again afterwards.
    """
    reported = {*case.compute_once(list_stranded_members)}  # they have nothing to fetch
    for (group, client), seen in case.seen.items_of_kind("left"):
        if (group, client) in reported:
            continue
        reading = case.seen.get_observation("reading", client)
        fetched = list(reading.list_marked_seconds()) if reading is not None else []
        silence, began = 0, 0
        for second in seen.list_marked_seconds():
            at = bisect_left(fetched, second + 1)
            if at and second - fetched[at - 1] > silence:
                silence, began = second - fetched[at - 1], fetched[at - 1]
        if silence > case.limits["poll.silence"]:
            joined = case.seen.get_observation("joined", group, client)
            came = joined is not None and joined.most["last"] > seen.first
            then = ", and came back" if came else ""
            # Whole seconds are marked: their difference is less than a second too large.
            paused = describe_duration((silence - 1) * 1000)
            what = f"fetched nothing for more than {paused}, then left group {escape_for_sentence(group)}{then}"
            about = _make_member_facts(client, group) | _describe_likelihood(case, client, group)
            about["began_ns"] = began * NS
            yield case.make_finding("poll-stopped", seen, what=what, **about)
            reported.add((group, client))
    for (group, client, _), seen in case.seen.items_of_kind("membership"):
        pauses = _list_absences(seen)
        if (group, client) in reported or not seen.count:
            continue
        away = max(pauses, default=0)
        if away >= case.limits["poll.away"] * NS or any(
            _POLL_REASON in its for its in _rebalance_reasons_of_group(case, group)
        ):
            then = f", and came back {_describe_pauses(pauses, seen.count)} on the same connection" if pauses else ""
            what = f"left group {escape_for_sentence(group)} while it went on running{then}"
            about = _make_member_facts(client, group) | _describe_likelihood(case, client, group)
            if seen.most.get("patience"):
                about["patience"] = f" ({describe_duration(seen.most['patience'])})"
            yield case.make_finding("poll-stopped", seen, what=what, **about)
            reported.add((group, client))


def _list_absences(membership: Observation) -> list[int]:
    """How long a member was away after each time that it left, in ns; leaves after which it did not come are left out.

    Empty where it came or left so often that not all times are kept.
    """
    leaves, comings = (sorted(map(int, membership.names.get(name, ()))) for name in ("leaves", "comings"))
    if max(len(leaves), len(comings)) >= NAMES_OBSERVED_MAX:
        return []
    found = []
    for at, until in pairwise((*leaves, _NEVER)):
        place = bisect_right(comings, at)
        if place < len(comings) and comings[place] < until:
            found.append(comings[place] - at)
    return found


def _describe_pauses(pauses: list[int], left: int) -> str:
    least, most = (describe_duration(find(pauses) / MS) for find in (min, max))
    times = " each time" if len(pauses) == left > 1 else ""
    return f"{least} later{times}" if least == most else f"{least} to {most} later{times}"


_NEVER: Final = 1 << 63


def _make_member_facts(client: str, group: str) -> dict[str, Any]:
    return {"client": client, "client_id": client, "group": group, "clients": [client]}


def _describe_likelihood(case: Case, client: str, group: str) -> dict[str, Any]:
    """Words for how sure it is that a program did not poll: its library may have said so when it left (KIP-800).

    `topics_read` are the topics whose partitions it reads: where it left for what their brokers did.
    """
    if any(_POLL_REASON in its for its in _rebalance_reasons_of_group(case, group)):
        return {}
    topics = {str(topic) for (_, topic, _), _ in case.find_matching_observations("asked", (0,), (client,))}
    return {"likely": "likely ", "topics_read": topics}


def _rebalance_reasons_of_group(case: Case, group: str) -> list[str]:
    its = case.seen.get_observation("group", group)
    return list(its.names.get("reasons", ())) if its is not None else []


# What Java clients give as their reason (KIP-800).
_POLL_REASON: Final = "poll timeout"


ABSENCES: Final[tuple[Callable[[Case], Iterator[Found]], ...]] = (
    _find_absent_brokers,
    _find_restarting_brokers,
    _find_downed_brokers,
    _find_silent_brokers,
    _find_pending_requests,
    _find_fetch_loops,
    _find_busiest_client,
    _find_stopped_polls,
)
