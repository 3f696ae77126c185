"""A request that is not sent: shown, printed to fill in, or given to the editor first."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from decoders.named_tuple import NamedTuple
from decoders.schema.api_declaration import Api, Side
from kwcli.calling.pair_sent_and_received import NOWHERE, ExchangeBuilder
from kwcli.calling.read_bodies import extract_body_of_document, parse_json_or_yaml
from kwcli.calling.request_builder import RequestDraft
from kwcli.calling.words.path_value_words import GivenWords, parse_body_words
from kwcli.net.session.broker_session import Session
from kwcli.run_environment import Environment, Exit, Failure

if TYPE_CHECKING:
    from kwcli.calling.choose_request_version import VersionChoice
    from kwcli.calling.print_exchanges import CallOutput
    from kwcli.output.output_settings import Settings


class UnsentRequest(NamedTuple):
    """The frame of a request that is not sent."""

    request_frame: bytes
    begun_ns: int
    response_frame: None = None
    first_ns: int = 0
    last_ns: int = 0

    @property
    def sent_ns(self) -> int:
        """The time `begun_ns`: sending takes no time."""
        return self.begun_ns


def print_request_skeleton(env: Environment, api: Api, draft: RequestDraft, choice: VersionChoice) -> Exit:
    """The request as annotated YAML on standard output, to be filled in."""
    env.stdout.write(_format_draft_as_yaml(api, draft, choice).encode())
    env.stdout.flush()
    return Exit.DONE


def refuse_empty_request(env: Environment, api: Api, draft: RequestDraft, choice: VersionChoice) -> Exit:
    """Refuse a request that changes something when nothing was given for its body; show the fields to fill in."""
    env.report(f"kw: {api.name} changes the cluster, so it needs path=value words before it is sent; fill in:")
    env.stderr.write(_format_draft_as_yaml(api, draft, choice).encode())
    env.report(f"kw: give path=value words, or this as a file: kw call {api.name} @FILE; --example sends it unchanged")
    return Exit.USAGE


def show_unsent_request(
    env: Environment, draft: RequestDraft, choice: VersionChoice, output: CallOutput, settings: Settings, client_id: str
) -> Exit:
    """Show the request that would be sent to a broker that supports every version, and its bytes."""
    api = draft.api
    request = draft.build_request(choice.keep_lowest_if_asked(choice.list_candidate_versions(api)))
    frame = Session(client_id=client_id).queue_request(api.key, request.version, request.body).frame
    exchange = ExchangeBuilder().build_exchange(NOWHERE, NOWHERE, UnsentRequest(frame, env.now_ns()))
    exchange.outcome, exchange.extra = "not_sent", None
    try:
        output.show_exchange(exchange, "not sent")
        if settings.format == "text":
            output.print_request_bytes(exchange)
    finally:
        output.finish_output()
    return Exit.DONE


def edit_request_draft(env: Environment, api: Api, draft: RequestDraft, choice: VersionChoice) -> RequestDraft:
    """The draft as the user edited its skeleton; the same draft where nothing was changed. Raises Failure."""

    given = edit_body_in_editor(api, _format_draft_as_yaml(api, draft, choice), env)
    return draft if given is None else RequestDraft(api, given)


def _format_draft_as_yaml(api: Api, draft: RequestDraft, choice: VersionChoice) -> str:
    from kwcli.calling.format_skeleton import format_skeleton

    versions = choice.keep_lowest_if_asked(choice.list_candidate_versions(api))
    version = draft.build_request(versions).version if not draft.is_empty else versions.high
    return format_skeleton(api, version, draft.build_request_json(version))


_SOURCE = "the edited text"


def edit_body_in_editor(api: Api, text: str, env: Environment, *, side: Side = "request") -> GivenWords | None:
    """The body as the user edited `text` in $VISUAL, $EDITOR or vi, checked by parse_body_words(); None: unchanged.

    Raises Failure; text that fails the check is kept in a file that the message names.
    """
    from kwcli.terminal.text_editor import open_text_in_file, run_editor, save_edited_text

    file_name = f"{api.name}.yaml"
    with open_text_in_file(file_name, text.encode()) as name:
        run_editor(env, name, "nothing is sent")
        data = Path(name).read_bytes()
        if data == text.encode():
            return None
        try:
            return parse_body_words(
                api, (), side=side, body=extract_body_of_document(parse_json_or_yaml(data, _SOURCE), _SOURCE, api, side)
            )
        except Failure as failure:
            kept = save_edited_text(file_name, data)
            raise Failure(f"{failure.text} (kept in {kept})", failure.code) from None
