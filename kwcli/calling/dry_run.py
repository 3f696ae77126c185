"""A request that is not sent: shown, printed to fill in, or given to the editor first."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from decoders.schema.model import Api, Side
from kwcli.calling.as_exchanges import NOWHERE, Tape
from kwcli.calling.assignments import GivenWords, check_words
from kwcli.calling.bodies import body_in, parse
from kwcli.calling.body_paths import fail
from kwcli.calling.request_builder import Draft
from kwcli.env import Environment, Exit, Failure
from kwcli.net.session.session import Session

if TYPE_CHECKING:
    from kwcli.calling.output import CallOutput
    from kwcli.calling.request_builder import VersionChoice
    from kwcli.env import Settings

_TERMINAL = "/dev/tty"
_SOURCE = "the edited text"


def edit_body(api: Api, text: str, env: Environment, *, side: Side = "request") -> GivenWords | None:
    """The body that the user makes of `text` in $VISUAL, $EDITOR or vi, checked as check_words() does; None: unchanged.

    Raises Failure; what was written is kept then, and its place said.
    """
    descriptor, name = tempfile.mkstemp(prefix=f"kw-{api.name}-", suffix=".yaml")
    path = Path(name)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    keep = False
    try:
        _run(env.variables.get("VISUAL") or env.variables.get("EDITOR") or "vi", name, env)
        data = path.read_bytes()
        if data == text.encode():
            return None
        try:
            return check_words(api, (), side=side, body=body_in(parse(data, _SOURCE), _SOURCE, api, side))
        except Failure as failure:
            keep = True
            raise Failure(f"{failure.text} (kept in {name})", failure.code) from None
    finally:
        if not keep:
            path.unlink(missing_ok=True)


def _run(editor: str, name: str, env: Environment) -> None:
    """Run the editor until it ends. Raises Failure."""
    try:
        words = shlex.split(editor)
    except ValueError as failure:
        fail(f"$EDITOR: {failure}: {editor}")
    try:
        with _terminal(env) as terminal:
            code = subprocess.run([*words, name], stdin=terminal, stdout=terminal, check=False).returncode
    except OSError as failure:
        fail(f"cannot start the editor {editor}: {failure.strerror} (set $EDITOR)", Exit.FAILURE)
    if code:
        fail(f"the editor {editor} ended with {code}; nothing is sent", Exit.FAILURE)


@contextmanager
def _terminal(env: Environment) -> Iterator[int | None]:
    """The terminal as a file descriptor where our own streams are none; None: take ours."""
    if env.stdin_terminal and env.stdout_terminal:
        yield None
        return
    try:
        descriptor = os.open(_TERMINAL, os.O_RDWR)
    except OSError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


# A request that is not sent in, what there is to see of it out: its skeleton, its bytes, the editor's view of it.


class Unsent(NamedTuple):
    """A request's frame that nobody was sent."""

    request_frame: bytes
    begun_ns: int
    response_frame: None = None
    first_ns: int = 0
    last_ns: int = 0

    @property
    def sent_ns(self) -> int:
        """The same: it takes no time."""
        return self.begun_ns


def print_skeleton(env: Environment, api: Api, draft: Draft, wish: VersionChoice) -> Exit:
    """The request as annotated YAML on standard output, to be filled in."""
    env.stdout.write(_skeleton(api, draft, wish).encode())
    env.stdout.flush()
    return Exit.DONE


def refuse_unsaid(env: Environment, api: Api, draft: Draft, wish: VersionChoice) -> Exit:
    """Instead of sending a request that changes something when nobody said what: show what there is to say."""
    env.say(f"kw: {api.name} changes something, so it is not sent without being told what; fill in:")
    env.stderr.write(_skeleton(api, draft, wish).encode())
    env.say(f"kw: give path=value words, or this as a file: kw call {api.name} @FILE; --example sends it as it is")
    return Exit.USAGE


def dry_run(
    env: Environment, draft: Draft, wish: VersionChoice, screen: CallOutput, settings: Settings, client_id: str
) -> Exit:
    """Show the request that would be sent to a broker that speaks everything, and its bytes."""
    api = draft.api
    request = draft.request(wish.candidates(api))
    frame = Session(client_id=client_id).request(api.key, request.version, request.body).frame
    exchange = Tape().play(NOWHERE, NOWHERE, Unsent(frame, env.now_ns()))
    exchange.extra = {"reason": "dry_run"}
    try:
        screen.show(exchange, "not sent")
        if settings.format == "text":
            screen.show_bytes(exchange)
    finally:
        screen.close()
    return Exit.DONE


def edit(env: Environment, api: Api, draft: Draft, wish: VersionChoice) -> Draft:
    """What the user makes of the skeleton in an editor; the same draft where nothing was changed. Raises Failure."""

    given = edit_body(api, _skeleton(api, draft, wish), env)
    return draft if given is None else Draft(api, given)


def _skeleton(api: Api, draft: Draft, wish: VersionChoice) -> str:
    from kwcli.calling.skeleton import skeleton

    versions = wish.candidates(api)
    version = draft.request(versions).version if not draft.empty else versions.high
    return skeleton(api, version, draft.value(version))
