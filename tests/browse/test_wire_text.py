"""Secrets and hostile text on the wire in: nothing of them reaches the screen, a copy or a file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("textual", reason="kw browse needs textual")

from decoders.exchanges.exchange import Settled
from kwcli.browse.background_processes.search_messages import ExportRows
from kwcli.browse.exports.call_line import make_call_line
from kwcli.browse.message_tree.message_fields import FieldReader
from kwcli.browse.panes.bytes_pane import BytesPane
from tests.browse.browsing import Browsing, run_steps
from tests.cli.hostile import NAME
from tests.cli.hostile import capture as make_hostile_capture
from tests.cli.test_secret_fields import capture, leaked

__all__ = ["capture"]  # a fixture


def list_rows(browsing: Browsing) -> Iterator[Settled]:
    for message in browsing.work.collect_messages(100_000):
        if hasattr(message, "place"):
            browsing.rows.add_block(message)
    for number in range(browsing.rows.end):
        yield browsing.rows.find_row(number)


def texts_of_row(browsing: Browsing, row: Settled) -> Iterator[str]:
    """Everything that the screen has to say of a row: tree, dump, copies."""
    if row.kind != "exchange":
        return
    message = FieldReader(row, browsing.settings).read_all()
    for field in message.fields:
        yield f"{field.name} {field.text}"
    dump = BytesPane()
    seen = set()
    for field in message.fields:
        if field.side not in seen and field.side in message.frames:
            seen.add(field.side)
            dump.side, dump.data, dump._hidden = (
                field.side,
                message.frames[field.side],
                sorted(message.hidden[field.side]),
            )
            dump._begins = [begin for begin, _ in dump._hidden]
            # 8,192 bytes at most: secrets are in small messages.
            lines = [dump.make_line(at).text for at in range(min(dump.count_lines(), 2048))]
            yield "".join(line.rpartition("  ")[2] for line in lines)
            digits = "".join(re.sub(r"[^0-9a-f*]", "", line[6:18]) for line in lines)
            yield bytes.fromhex(digits.replace("*", "0")).decode("latin-1")
    yield make_call_line(row, browsing.settings)


def test_no_secret_is_in_a_tree_a_dump_or_a_copy(capture: str) -> None:
    browsing, count = Browsing(capture), 0
    for row in list_rows(browsing):
        for text in texts_of_row(browsing, row):
            count += 1
            assert leaked(text) == []
    assert count > 1000


@pytest.mark.long
def test_secrets_are_there_for_whoever_asks(capture: str) -> None:
    browsing = Browsing(capture, reveal=True)
    found = {each for row in list_rows(browsing) for text in texts_of_row(browsing, row) for each in leaked(text)}
    assert len(found) > 60


@pytest.mark.one_in(3)
@pytest.mark.parametrize("output", ["ndjson", "hex", "text"])
def test_no_secret_is_in_a_file_that_is_written(capture: str, tmp_path: Path, output: str) -> None:
    browsing = Browsing(capture)
    end = len(list(list_rows(browsing)))
    path = tmp_path / "rows"
    browsing.work.send_question(ExportRows(1, str(path), output, "", end))
    while not any(hasattr(each, "problem") for each in browsing.work.collect_messages(1)):
        pass
    assert path.stat().st_size > 10_000
    assert leaked(path.read_text()) == []


def test_hostile_names_are_escaped_everywhere(tmp_path: Path) -> None:
    path = tmp_path / "hostile.pcap"
    path.write_bytes(make_hostile_capture())

    async def steps(browsing: Browsing, pilot: Any) -> None:
        views = [browsing.screen_text]
        for keys in (("enter", "x"), ("escape", "L"), ("3",), ("4",), ("b",), ("b",), ("1", "c"), ("F", "j", "j", "p")):
            for key in keys:
                await pilot.press(key)
            await browsing.settle(pilot)
            views.append(browsing.screen_text)
        for at in range(browsing.app.list_pane.count_lines()):
            views.append(browsing.app.list_pane.make_line(at).text)
        for row in [browsing.rows.find_row(number) for number in range(browsing.rows.end)]:
            if row.kind == "exchange":
                views += [
                    f"{field.name} {field.text}" for field in FieldReader(row, browsing.settings).read_all().fields
                ]
        assert any("EVIL" in view or "FORGED" in view for view in views)
        odd = [view for view in views if not view.replace("\n", "").isprintable()]
        assert odd == []

    assert not NAME.isprintable()
    run_steps(Browsing(str(path), ports=(9092,)), steps, (120, 40))
