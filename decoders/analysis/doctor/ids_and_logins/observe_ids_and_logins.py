"""Exchanges of group members, transactional producers and logins in, observations of who came and left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.doctor.refused.explain_single_codes import observe_instance
from decoders.analysis.doctor.refused.observe_refusals import observe_accepted_values
from decoders.analysis.exchange_facts import GATHERINGS, topic_of_element, view_or_empty
from decoders.analysis.read_dimension_values import host_of
from decoders.exchanges.topic_arrays import structs_at
from decoders.protocols.read_sasl_messages import FINAL_ANSWERS, family_of_mechanism
from decoders.wire.format_and_escape_text import format_rfc3339

if TYPE_CHECKING:
    from collections.abc import Iterable

    from decoders.analysis.doctor.observations import Observations
    from decoders.exchanges.exchange import Exchange

__all__ = [
    "mark_member_alive",
    "observe_deleted_topics",
    "observe_group_heartbeat",
    "observe_group_join",
    "observe_group_leave",
    "observe_login",
    "observe_new_credentials",
    "observe_producer_start",
    "observe_sasl_handshake",
    "observe_shared_addresses",
    "observe_transaction_begin",
    "observe_transaction_end",
]

_INCONSISTENT_PROTOCOL: Final = 23


def observe_group_join(seen: Observations, exchange: Exchange, client: str) -> None:
    request, answer = view_or_empty(exchange, "request"), view_or_empty(exchange, "response")
    group, generation = request.get("group_id"), answer.get("generation_id")
    if not group:
        return
    if not answer.get("error_code") and isinstance(generation, int) and generation >= 0:
        _observe_group_generation(seen, exchange, group, generation, client)
        observe_accepted_values(seen, exchange, client)
        if exchange.response_ns is not None and exchange.request_end_ns is not None:
            seen.get_or_make("group", group).add_to_sum("waited", exchange.response_ns - exchange.request_end_ns)
            seen.get_or_make("group", group).keep_greatest("waited", exchange.response_ns - exchange.request_end_ns)
    mark_member_alive(seen, exchange, client)
    seen.get_or_make("joined", group, client).keep_greatest("last", exchange.time_ns)
    membership = seen.get_or_make("membership", group, client, exchange.connection_info.client)
    membership.count_name("comings", str(exchange.time_ns))
    membership.keep_greatest("patience", request.get("rebalance_timeout_ms") or 0)
    _observe_offered_protocols(seen, exchange, client, group)
    if request.get("group_instance_id"):
        _observe_user_of_name(seen, exchange, client, ("group.instance.id", group, request["group_instance_id"]))
    its = seen.get_or_make("group", group)
    its.count_exchange(exchange)
    its.count_name("came" if not request.get("member_id") else "again", client)
    if request.get("reason"):
        its.count_name("reasons", request["reason"])


def _observe_offered_protocols(seen: Observations, exchange: Exchange, client: str, group: str) -> None:
    """Observe the protocols (assignors) of a member that a group took, or refused because they do not fit."""
    code = view_or_empty(exchange, "response").get("error_code")
    if code and code != _INCONSISTENT_PROTOCOL:
        return
    request = view_or_empty(exchange, "request")
    its = seen.get_or_make("offers", group, client, "refused" if code else "taken")
    its.count_exchange(exchange)
    for protocol in structs_at(request, "protocols"):
        its.count_name("protocols", str(protocol.get("name")))
    if request.get("protocol_type"):
        its.count_name("types", request["protocol_type"])


def _observe_user_of_name(
    seen: Observations, exchange: Exchange, client: str, name: tuple[str, str | None, str]
) -> None:
    """Observe a client that takes a name which one process may have: the setting, the group, the name itself."""
    seen.get_or_make("name", *name, client, host_of(exchange.connection_info.client)).count_exchange(exchange)


def mark_member_alive(seen: Observations, exchange: Exchange, client: str) -> None:
    """Mark the time of an exchange of a member, which is not late as long as it waits for the others."""
    request, answer = view_or_empty(exchange, "request"), view_or_empty(exchange, "response")
    group, member = request.get("group_id"), request.get("member_id") or answer.get("member_id")
    if not group or not member:
        return
    its = seen.get_or_make("alive", group, member)
    its.count_name("clients", client)
    last = exchange.time_ns if exchange.response_ns is None else exchange.response_ns
    its.mark_seconds(exchange.time_ns, max(last, exchange.time_ns))
    timeout = request.get("session_timeout_ms")
    if timeout:
        its.keep_greatest("timeout", timeout)
    elif exchange.api_key not in GATHERINGS:
        its.count_exchange(exchange)


def _observe_group_generation(seen: Observations, exchange: Exchange, group: str, number: int, client: str) -> None:
    its = seen.get_or_make("generation", group, number)
    its.count_exchange(exchange)
    its.count_name("clients", client)


def observe_group_leave(seen: Observations, exchange: Exchange, client: str) -> None:
    request = view_or_empty(exchange, "request")
    group = request.get("group_id")
    if group:
        left = seen.get_or_make("left", group, client)
        left.count_exchange(exchange)
        left.mark_second(exchange.time_ns)
        its = seen.get_or_make("membership", group, client, exchange.connection_info.client)
        its.count_exchange(exchange)
        its.count_name("leaves", str(exchange.time_ns))
        its = seen.get_or_make("group", group)
        its.count_name("left", client)
        for member in structs_at(request, "members"):
            if member.get("reason"):
                its.count_name("reasons", member["reason"])


def observe_group_heartbeat(seen: Observations, exchange: Exchange, client: str) -> None:
    request, answer = view_or_empty(exchange, "request"), view_or_empty(exchange, "response")
    group, epoch = request.get("group_id"), answer.get("member_epoch")
    if not group:
        return
    mark_member_alive(seen, exchange, client)
    its = seen.get_or_make("group", group)
    asked = request.get("member_epoch")
    if asked == 0:
        its.count_name("came", client)
    elif isinstance(asked, int) and asked < 0:
        its.count_name("left", client)
    if not answer.get("error_code") and isinstance(epoch, int) and epoch > 0:
        _observe_group_generation(seen, exchange, group, epoch, client)
        its.count_exchange(exchange)
        if request.get("instance_id"):
            observe_instance(seen, exchange, client, group, request["instance_id"])


def observe_shared_addresses(seen: Observations, exchange: Exchange, nodes: Iterable[dict[str, Any]]) -> None:
    """Observe the addresses at which one answer lists several nodes."""
    places: dict[tuple[Any, Any], set[Any]] = {}
    for node in nodes:
        places.setdefault((node.get("host"), node.get("port")), set()).add(node.get("node_id"))
    for (host, port), numbers in places.items():
        if len(numbers) > 1 and host and isinstance(port, int):
            its = seen.get_or_make("shared-address", host, port)
            its.count_answer(exchange)
            its.count_name("clients", host_of(exchange.connection_info.client))
            for number in numbers:
                its.count_name("nodes", str(number))


def observe_producer_start(seen: Observations, exchange: Exchange, client: str) -> None:
    """Observe a producer that takes a transactional id, which fences the one before, and its time-out."""
    request = view_or_empty(exchange, "request")
    name, timeout = request.get("transactional_id"), request.get("transaction_timeout_ms")
    if not name:
        seen.get_or_make("producer-id", client, host_of(exchange.connection_info.client)).count_exchange(exchange)
    elif not view_or_empty(exchange, "response").get("error_code"):
        _observe_user_of_name(seen, exchange, client, ("transactional.id", None, name))
        observe_accepted_values(seen, exchange, client)
        seen.get_or_make("transaction-taken", name).mark_second(exchange.time_ns)
        if isinstance(timeout, int):
            its = seen.get_or_make("transaction-timeout", name)
            its.keep_first_and_last("timeout", exchange.time_ns, timeout)
            producer = view_or_empty(exchange, "response").get("producer_id")
            if isinstance(producer, int):
                its.count_name("producers", str(producer))


def observe_transaction_end(seen: Observations, exchange: Exchange, client: str) -> None:
    request, answer = view_or_empty(exchange, "request"), view_or_empty(exchange, "response")
    name = request.get("transactional_id")
    if name and not answer.get("error_code"):
        its = seen.get_or_make("transaction", name)
        its.count_exchange(exchange)
        its.count_name("clients", client)
        its.add_to_sum("commits" if request.get("committed") else "aborts", 1)
        its.keep_greatest("ended", exchange.time_ns)
        seen.get_or_make("transaction-ended", name).mark_second(exchange.time_ns)
        if request.get("committed"):
            seen.get_or_make("transaction-committed", name).mark_second(exchange.time_ns)


def observe_transaction_begin(seen: Observations, exchange: Exchange, client: str) -> None:
    request = view_or_empty(exchange, "request")
    name = request.get("transactional_id") or request.get("v3_and_below_transactional_id")
    if name:
        its = seen.get_or_make("transaction", name)
        its.count_exchange(exchange)
        its.count_name("clients", client)
        its.keep_greatest("begun", exchange.time_ns)
        if not exchange._error_codes:
            seen.get_or_make("transaction-begun", name).mark_second(exchange.time_ns)


def observe_sasl_handshake(seen: Observations, exchange: Exchange, client: str) -> None:
    mechanism = view_or_empty(exchange, "request").get("mechanism")
    if mechanism:
        seen.get_or_make("login", client).count_name("mechanisms", mechanism)
        seen.get_or_make("login", client).count_exchange(exchange)
        if not view_or_empty(exchange, "response").get("error_code"):
            observe_accepted_values(seen, exchange, client)


def observe_login(seen: Observations, exchange: Exchange, client: str) -> None:
    """Observe the last round of a login that succeeds, and that the broker ends it after a while (KIP-368)."""
    until = exchange.extra["sasl"].get("expires") if exchange.extra is not None and "sasl" in exchange.extra else None
    if until and until < format_rfc3339(exchange.time_ns):
        its = seen.get_or_make("token-expired", client)
        its.count_exchange(exchange)
        its.count_name("until", until)
    answer = view_or_empty(exchange, "response")
    if answer.get("error_code") or not _is_last_round(exchange):
        return
    seen.get_or_make("logged-in", client, exchange.user).count_exchange(exchange)
    seen.get_or_make("takes-logins", exchange.connection_info.broker).count_exchange(exchange)
    lifetime = answer.get("session_lifetime_ms")
    if lifetime:
        info = exchange.connection_info
        its = seen.get_or_make("session", client, info.broker, info.client)
        its.keep_greatest("lifetime", lifetime)
        its.keep_greatest("login", exchange.response_ns or exchange.time_ns)


def _is_last_round(exchange: Exchange) -> bool:
    """Whether a SaslAuthenticate without an error ends a login with success, as far as its mechanism is known."""
    said = None if exchange.extra is None else exchange.extra.get("sasl")
    login = exchange.login
    if said is None or login is None:
        return True
    if "refusal" in said:
        return False
    last = FINAL_ANSWERS.get(family_of_mechanism(login["mechanism"] or ""))
    return last is None or "answer" not in said or (said.get("step", ""), said["answer"]) in last


def observe_new_credentials(seen: Observations, exchange: Exchange, client: str) -> None:
    """Observe the users whose SCRAM credentials are changed."""
    for result in structs_at(view_or_empty(exchange, "response"), "results"):
        if result.get("user") and not result.get("error_code"):
            _observe_change(seen, exchange, client, "credentials", result["user"])


def observe_deleted_topics(seen: Observations, exchange: Exchange, client: str) -> list[str]:
    """Observe the topics that are deleted; returns all that the request names."""
    request = view_or_empty(exchange, "request")
    topics = [name for name in request.get("topic_names") or () if name and isinstance(name, str)]
    topics += [name for name in (topic_of_element(exchange, its) for its in structs_at(request, "topics")) if name]
    for element in structs_at(view_or_empty(exchange, "response"), "responses"):
        topic = topic_of_element(exchange, element)
        if topic is not None and not element.get("error_code"):
            _observe_change(seen, exchange, client, "deleted", topic)
    return topics


def _observe_change(seen: Observations, exchange: Exchange, client: str, kind: str, subject: str) -> None:
    its = seen.get_or_make(kind, subject)
    its.count_exchange(exchange)
    its.count_name("clients", client)
    its.count_name("times", str(exchange.time_ns))
