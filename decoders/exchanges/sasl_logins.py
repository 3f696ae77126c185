"""The steps of a SASL login in, who has logged in on a connection out (KIP-43, KIP-152, KIP-368).

The problem. The mechanism is in one request, the user in another, and the broker's decision in the response to the last
step. Mechanisms differ in how many steps they have, and some mechanisms are known to the two sides alone.

The idea. A login is an attempt from its SaslHandshake on. The user that it names counts from the first response without
an error on, and the next step may tell more. An error takes the attempt back: the login from before it counts again (a
connection logs in again before its session ends). So the last step of a mechanism need not be known.

```
SaslHandshake ─► attempt ──┬ step answered ─► login is the attempt's ─┬ the last one ─► no attempt
                           └ refused ───────► login as before         └ else ─► next step
```

What always holds: a request has the login in force when it was sent; the steps of a login have the attempt's login,
refused or not. The record (`sasl`) has names and numbers of a step, never a proof.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from decoders.errors import Malformed
from decoders.exchanges.exchange import Exchange, Login
from decoders.limits import HISTORY_MAX, USER_MAX
from decoders.protocol_facts.api_keys import CREATE_DELEGATION_TOKEN, DESCRIBE_DELEGATION_TOKEN
from decoders.protocols.read_sasl_messages import (
    FINAL_ANSWERS,
    REFUSAL,
    SaslStep,
    family_of_mechanism,
    guess_mechanism,
    read_sasl_step,
)
from decoders.schema.api_declaration import Side
from decoders.schema.body_json_form import json_text
from decoders.wire.format_and_escape_text import format_rfc3339
from decoders.wire.state_serialization import state_fields

__all__ = ["LoginAttempt", "learn_token_owners", "make_login"]

# The facts of a step that are keys in `sasl` of the record.
_SAID: Final = ("acting_as", "token_id", "realm", "service", "iterations", "algorithm", "refusal")


@lru_cache(1024)  # the same few on thousands of connections
def make_login(user: str | None, mechanism: str | None) -> Login:
    """A login; all connections with the same login share one object."""
    return {"user": user, "mechanism": mechanism}


class LoginAttempt:
    """One login under way. `before`: who had logged in when it began; `step`: the client's latest step; `over`: the
    broker has answered the last one.
    """

    __slots__ = ("before", "mechanism", "over", "step", "user")

    def __init__(self, mechanism: str | None, before: Login | None) -> None:
        self.mechanism = mechanism
        self.before = before
        self.user: str | None = None
        self.step = ""
        self.over = False

    @property
    def finished_login(self) -> Login | None:
        """The login if the attempt succeeds; None where the capture shows nothing of it."""
        return make_login(self.user, self.mechanism) if self.user or self.mechanism else None

    def add_step(self, exchange: Exchange, data: bytes | None, owners: Mapping[str, str]) -> None:
        """Take the client's step, None where the capture lacks it; `owners`: delegation token id → its owner."""
        step = None
        if data is not None:
            if self.mechanism is None:
                self.mechanism = guess_mechanism(data)
            step = read_sasl_step(self.mechanism or "", data, "request")
        self.step = step.name if step is not None else ""
        if step is not None and step.user is not None:
            self.user = owners.get(step.user, step.user) if "token_id" in step.said else step.user
        _add_sasl_step(exchange, "request", step)
        exchange.login = self.finished_login

    def add_answer(self, exchange: Exchange, data: bytes | None) -> Login | None:
        """Take the broker's answer, without an error code, to the latest step; returns who is logged in then."""
        step = None if data is None else read_sasl_step(self.mechanism or "", data, "response")
        _add_sasl_step(exchange, "response", step)
        last = FINAL_ANSWERS.get(family_of_mechanism(self.mechanism or ""))
        self.over = last is None or step is None or (self.step, step.name) in last
        refused = step is not None and (step.name == REFUSAL or "refusal" in step.said)
        return self.before if refused else self.finished_login

    def export(self) -> list[object]:
        """The attempt as built-in values."""
        return [self.mechanism, self.before, self.user, self.step]

    @classmethod
    def make_resumed(cls, state: object) -> LoginAttempt:
        """The attempt that `export` gave. Raises DecodeError when the state is something else."""
        mechanism, before, user, step = state_fields(state, str | None, dict | None, str | None, str)
        attempt = cls(mechanism, resume_login(before))
        attempt.user, attempt.step = user, step
        return attempt


_OWNER: Final = ("token_id", "principal_type", "principal_name")
_OWNERS: Final[dict[int, frozenset[str]]] = {
    CREATE_DELEGATION_TOKEN: frozenset(_OWNER),
    DESCRIBE_DELEGATION_TOKEN: frozenset(f"tokens[].{name}" for name in _OWNER),
}


def learn_token_owners(exchange: Exchange, owners: dict[str, str]) -> None:
    """Add to `owners` the owners of delegation tokens that a response names."""
    answer = exchange._api_reader.read_wanted_fields(exchange, "response", _OWNERS[exchange.api_key])  # type: ignore[index]  # it has some
    for token in [answer, *(answer.get("tokens") or ())] if answer is not None else ():
        identity, kind, name = (token.get(each) for each in _OWNER)
        if identity and name and kind == "User" and (identity in owners or len(owners) < HISTORY_MAX):
            owners[identity] = name[:USER_MAX]


def resume_login(state: object) -> Login | None:
    """A login from its saved state. Raises DecodeError when the state is something else."""
    if state is None:
        return None
    if not isinstance(state, dict) or state.keys() != {"user", "mechanism"}:
        raise Malformed("a saved login of another kind")
    return make_login(*state_fields(list(state.values()), str | None, str | None))


def _add_sasl_step(exchange: Exchange, side: Side, step: SaslStep | None) -> None:
    """Add what a step says to `sasl` in the exchange's `extra`."""
    if step is None:
        return
    before: dict[str, Any] = (exchange.extra or {}).get("sasl") or {}
    said: dict[str, Any] = {name: _to_json_value(step.said[name]) for name in _SAID if name in step.said}
    if "expires_s" in step.said:
        said["expires"] = format_rfc3339(step.said["expires_s"] * 10**9)
    name = "step" if side == "request" else "answer"
    exchange.extra = {**(exchange.extra or {}), "sasl": {**before, name: step.name, **said}}


def _to_json_value(value: Any) -> Any:
    return json_text(value) if isinstance(value, str) else value
