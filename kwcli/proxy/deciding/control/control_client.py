"""A request to the control interface of a running proxy in, its JSON out; and rows of JSON as a table."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from decoders.exchanges.exchange import Exchange
from decoders.limits import CONTROL_ANSWER_MAX, HTTP_ANSWER_S
from decoders.messages.exchange_from_json import FromRecords
from decoders.named_tuple import NamedTuple
from decoders.wire.format_and_escape_text import escape_text
from decoders.wire.suggest_similar_words import did_you_mean
from kwcli.net.command_deadline import Deadline
from kwcli.net.http_client import HttpServer, send_http_request
from kwcli.output.renderers import open_renderer
from kwcli.output.short_texts import palette
from kwcli.output.table import NOTHING, Column, draw_table
from kwcli.output.write_values_in_any_format import JsonWriter
from kwcli.proxy.deciding.control.control_operations import RING_ROWS
from kwcli.proxy.deciding.control.http_control import find_token_file
from kwcli.run_environment import Exit, Failure
from kwcli.user_folders import own_folder

if TYPE_CHECKING:
    from kwcli.output.output_settings import Settings
    from kwcli.run_environment import Environment


_LOOK_S = 0.5


def find_control_port(variables: Mapping[str, str]) -> int:
    """The port of the one proxy that has a control interface. Raises Failure where there is none, or are several."""
    found = sorted(own_folder("state", variables).glob("proxy-control-*.token"))
    numbers = [path.stem.rpartition("-")[2] for path in found]
    ports = [int(number) for number in numbers if number.isdigit() and _is_port_listening(int(number))]
    if len(ports) == 1:
        return ports[0]
    if not ports:
        raise Failure(
            "no running proxy has a control interface: start one with kw proxy --control PORT", Exit.UNREACHABLE
        )
    raise Failure(f"several proxies have a control interface: give --port {' or '.join(map(str, ports))}", Exit.USAGE)


def _is_port_listening(port: int) -> bool:
    """Whether a program listens on the port; needed since a killed proxy leaves its token's file."""
    with socket.socket() as sock:
        sock.settimeout(_LOOK_S)
        return sock.connect_ex(("127.0.0.1", port)) == 0


def send_control_request(
    port: int, method: str, path: str, fields: Mapping[str, Any], variables: Mapping[str, str]
) -> Any:
    """Ask the control interface on a port; its JSON answer. Raises Failure."""
    file = find_token_file(port, variables)
    try:
        token = file.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        raise Failure(f"no proxy runs with --control {port} ({file} is not there)", Exit.UNREACHABLE) from None
    except (OSError, UnicodeError) as error:
        raise Failure(f"{file}: {getattr(error, 'strerror', None) or error}") from None
    given = {name: value for name, value in fields.items() if value is not None}
    body = json.dumps(given).encode() if method != "GET" else b""
    target = f"{path}?{urlencode(given)}" if method == "GET" and given else path
    server = HttpServer("127.0.0.1", port, f"127.0.0.1:{port}")
    deadline = Deadline(HTTP_ANSWER_S, time.monotonic)
    headers = {"Authorization": f"Bearer {token}"}
    try:
        response = send_http_request(server, method, target, headers, body, deadline, size_max=CONTROL_ANSWER_MAX)
        answer = json.loads(response.body)
    except TimeoutError:
        raise Failure(f"127.0.0.1:{port} does not answer", Exit.TIMEOUT) from None
    except ConnectionRefusedError:
        raise Failure(
            f"no proxy listens on 127.0.0.1:{port} (one that ended has left its token)", Exit.UNREACHABLE
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise Failure(f"127.0.0.1:{port} is no control interface: {error}") from None
    if response.status != 200:
        said = answer.get("error", answer) if isinstance(answer, dict) else answer
        raise Failure(escape_text(str(said)), Exit.USAGE if response.status == 400 else Exit.FAILURE)
    return answer


# The time (s) between two questions for new exchanges.
_POLL_S: Final = 0.1


class WaitOptions(NamedTuple):
    """An exchange that is waited for: its filter, the time limit in seconds, and whether one that has passed counts."""

    filter: str
    timeout_s: float
    past: bool


def wait_for_exchange(port: int, options: WaitOptions, variables: Mapping[str, str]) -> dict[str, Any]:
    """The record of the first exchange that matches a filter. Raises Failure: a wrong filter, none came in time."""
    from decoders.filters import FilterError, parse

    try:
        wanted = parse(options.filter)
    except FilterError as error:
        hint = did_you_mean(error.word, error.candidates) if error.word else ""
        raise Failure(f"column {error.column}: {error.text}{hint}", Exit.USAGE) from None
    deadline = Deadline(options.timeout_s, time.monotonic)
    records = FromRecords()
    seen = 0 if options.past else None
    while True:
        count: int = send_control_request(port, "GET", "/v1/exchanges/count", {}, variables)["count"]
        fields = {"after": count if seen is None else seen, "limit": RING_ROWS}
        rows: list[dict[str, Any]] = send_control_request(port, "GET", "/v1/exchanges", fields, variables)
        for row in rows:
            exchange = records.read(row)
            if isinstance(exchange, Exchange) and wanted.matches(exchange):
                return row
        seen = count if seen is None else max(seen + len(rows), count)  # the proxy may have dropped some
        if not deadline.left():
            raise Failure(f"no exchange that matches came within {options.timeout_s:g} s", Exit.TIMEOUT)
        time.sleep(min(_POLL_S, deadline.left()))


def print_exchanges(env: Environment, rows: list[dict[str, Any]], settings: Settings) -> None:
    """Print records of exchanges as `kw sniff` prints exchanges; as JSON they stay as they came."""
    if settings.format in ("ndjson", "json"):
        print_rows(env, rows, settings)
        return
    records = FromRecords()
    pieces: list[bytes] = []
    renderer = open_renderer(settings, pieces.append)
    renderer.write([records.read(row) for row in rows])
    renderer.close()
    env.stdout.write(b"".join(pieces))


def print_rows(env: Environment, rows: list[dict[str, Any]], settings: Settings) -> None:
    """Print rows as a table or as JSON."""
    if settings.format != "text":
        pieces: list[bytes] = []
        writer = JsonWriter(pieces.append, lines=settings.format == "ndjson")
        for row in rows:
            writer.add(row)
        writer.close()
        env.stdout.write(b"".join(pieces))
        return
    titles = list(dict.fromkeys(name for row in rows for name in row))
    columns = [
        Column(title.replace("_", " "), [_format_cell(row.get(title)) for row in rows], drop=at, cut=12, wrap=False)
        for at, title in enumerate(titles)
    ]
    lines = draw_table(columns, settings.width, palette(settings.color)) if rows else ["nothing"]
    env.stdout.write("".join(f"{line}\n" for line in lines).encode())


def _format_cell(value: Any) -> str:
    if value is None or value == []:
        return NOTHING
    if isinstance(value, float):
        return f"{value:.1f}"
    if isinstance(value, list):
        return ",".join(str(each["name"]) if isinstance(each, dict) and "name" in each else str(each) for each in value)
    if isinstance(value, dict):
        return escape_text(str(value.get("action", value.get("by", value))))
    return escape_text(str(value))
