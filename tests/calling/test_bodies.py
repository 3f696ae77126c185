"""JSON and YAML with every kind of mistake, records around a body, and the user's editor."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from decoders.apis import api
from kwcli.calling.check_field_values import PlainWord
from kwcli.calling.format_skeleton import format_skeleton
from kwcli.calling.read_bodies import extract_body_of_document, parse_json_or_yaml
from kwcli.calling.show_unsent_request import edit_body_in_editor
from kwcli.calling.words.path_value_words import compose_body, parse_body_words
from kwcli.run_environment import Exit, Failure
from tests.cli.worlds import world


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'{"a":1}', {"a": 1}),
        (b'\xef\xbb\xbf{"a":9223372036854775807}', {"a": 2**63 - 1}),
        (b'  [{"a":1.5}]', [{"a": 1.5}]),
        (b'{"a":1}\n{"a":2}\n', [{"a": 1}, {"a": 2}]),
        (b"{a: 1, b: 'x'}", {"a": "1", "b": "x"}),
        (b"a: 1\nb:\n  - x\n  - ~\n", {"a": "1", "b": ["x", None]}),
        (b'a: "\\u00e9\\U0001f642"', {"a": "é🙂"}),
        (b"a: 2026-01-01\nb: 12:30:45\nc: yes", {"a": "2026-01-01", "b": "12:30:45", "c": "yes"}),
        (b"", None),
        (b"# nothing\n", None),
        (b"--- {a: 1}\n--- {a: 2}\n", [{"a": "1"}, {"a": "2"}]),
    ],
)
def test_documents(text: bytes, value: Any) -> None:
    assert parse_json_or_yaml(text, "it") == value


def test_plain_text_is_told_from_quoted_text() -> None:
    found = parse_json_or_yaml(b"a: 1\nb: '1'\nc: \"1\"\nd: |\n  1\n", "it")
    assert [isinstance(found[name], PlainWord) for name in "abcd"] == [True, False, False, False]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b"\xff", "it: neither JSON nor YAML: no UTF-8 at byte 0"),
        (b'{"a":}', "it: no JSON: Expecting value at line 1, column 6"),
        (b'{"a":1,"a":2}', 'it: no JSON: "a" twice in one object'),
        (b"a: 1\na: 2", 'it: neither JSON nor YAML: "a" twice in one object at line 2, column 1'),
        (b"a: &x 1\nb: *x", "it: neither JSON nor YAML: anchors and aliases are not understood at line 1, column 4"),
        (
            b"a: !!python/object:os.system x",
            "it: neither JSON nor YAML: tags (tag:yaml.org,2002:python/object:os.syste) "
            "are not understood at line 1, column 4",
        ),
        (
            b"a: !!str 5",
            "it: neither JSON nor YAML: tags (tag:yaml.org,2002:str) are not understood at line 1, column 4",
        ),
        (b"? {a: 1}\n: 2", "it: neither JSON nor YAML: a name expected at line 1, column 3"),
        (b"a: [", "it: neither JSON nor YAML: did not find expected node content at line 2, column 1"),
        (b"a:\n\t- x", "it: neither JSON nor YAML: found character that cannot start any token at line 2, column 1"),
        (b"a: \x00", "it: neither JSON nor YAML: "),
        (b"[" * 100_000, "it: no JSON: arrays and objects inside each other too deep"),
        (b"a: " + b"[" * 200, "it: neither JSON nor YAML: arrays and objects inside each other too deep"),
        (b'{"a":' + b"9" * 5000 + b"}", "it: no JSON: "),
    ],
)
def test_what_is_no_document(text: bytes, line: str) -> None:
    with pytest.raises(Failure) as caught:
        parse_json_or_yaml(text, "it")
    assert caught.value.text.startswith(line)
    assert "\n" not in caught.value.text
    assert caught.value.code == Exit.FAILURE


RECORD = {"kind": "exchange", "api_key": 3, "api": "Metadata", "api_version": 12, "request": {"topics": None},
          "response": {"controller_id": 1}}  # fmt: skip
MESSAGE = {"kind": "message", "side": "response", "api_key": 3, "api_version": 12, "body": {"controller_id": 1}}


def test_the_body_of_a_record() -> None:
    metadata = api("metadata")
    assert extract_body_of_document(RECORD, "it", metadata, "request").value == {"topics": None}
    assert extract_body_of_document([RECORD], "it", metadata, "response").value == {"controller_id": 1}
    assert extract_body_of_document(RECORD, "it", metadata, "request").version == 12
    assert extract_body_of_document(MESSAGE, "it", metadata, "response").value == {"controller_id": 1}


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ([RECORD, RECORD], "it: 2 documents, one body expected"),
        (RECORD | {"api_key": 1, "api": "Fetch"}, "it: it holds a record of Fetch, but Metadata is needed"),
        (RECORD | {"request": None}, "it: a record without its request"),
        (RECORD | {"undecoded": {"request": {}}}, "it: the request of this record could not be decoded to its end"),
        (MESSAGE, "it: it holds a response, but a request is needed"),
        (
            MESSAGE | {"side": "request", "undecoded": {"reason": "lost"}},
            "it: the request of this record could not be decoded to its end",
        ),
        (RECORD | {"api_key": None}, "it: a record without an API (a bare SASL token, or a response alone)"),
        (None, "it: empty, a body expected (at least {})"),
        ("x", "it: an object of field names and values is expected"),
    ],
)
def test_records_that_will_not_do(value: Any, line: str) -> None:
    with pytest.raises(Failure) as caught:
        extract_body_of_document(value, "it", api("metadata"), "request")
    assert caught.value.text == line


def test_records_of_yaml_text() -> None:
    text = b"""
topic_data:
  - name: 1
    partition_data:
      - index: 7
        records:
          - codec: gzip
            base_offset: 5
            transactional: false
            records:
              - {key: 1, value: true, headers: [{key: 2, value: ~}], timestamp: 17}
"""
    body = compose_body(api("produce"), 9, ["-"], env=world(text))
    (batch,) = body["topic_data"][0]["partition_data"][0]["records"]
    assert body["topic_data"][0]["name"] == "1"
    assert batch == {
        "codec": "gzip",
        "base_offset": 5,
        "transactional": False,
        "records": [{"key": "1", "value": "true", "headers": [{"key": "2", "value": None}], "timestamp": 17}],
    }


def test_a_failed_body_says_where_it_came_from(tmp_path: Path) -> None:
    file = tmp_path / "b.json"
    file.write_text('{"topics":[{"name":"a"},{"name":5}]}')
    with pytest.raises(Failure) as caught:
        parse_body_words(api("metadata"), [f"@{file}"])
    assert caught.value.text == f"{file}: topics[1].name: string expected, not 5"
    assert caught.value.code == Exit.FAILURE


def editor(folder: Path, script: str) -> str:
    """The command of an editor that runs the script; its last argument is the file."""
    path = folder / "my editor"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return f"'{path}' --wait"


def test_the_editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    text = format_skeleton(api("metadata"), 12, {"topics": [{"name": "kw-example"}]})
    env = world(variables={"EDITOR": editor(tmp_path, 'sed -i s/kw-example/orders/ "$2"')})
    given = edit_body_in_editor(api("metadata"), text, env)
    assert given is not None
    assert compose_body(api("metadata"), 12, given)["topics"][0]["name"] == "orders"
    assert edit_body_in_editor(api("metadata"), text, world(variables={"EDITOR": "true"})) is None
    assert [path.name for path in tmp_path.iterdir()] == ["my editor"]


@pytest.mark.parametrize(
    ("script", "line", "kept"),
    [
        ("exit 3", "ended with 3; nothing is sent", False),
        ('echo "topic: 5" > "$2"', 'the edited text: Metadata has no field "topic" (did you mean "topics"?', True),
        (': > "$2"', "the edited text: empty, a body expected", True),
    ],
)
def test_editing_that_goes_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, line: str, kept: bool
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    env = world(variables={"VISUAL": editor(tmp_path, script), "EDITOR": "false"})
    with pytest.raises(Failure) as caught:
        edit_body_in_editor(api("metadata"), format_skeleton(api("metadata"), 12, {}), env)
    assert line in caught.value.text
    left = [path for path in tmp_path.iterdir() if path.suffix == ".yaml"]
    assert len(left) == kept
    assert all(f"(kept in {path})" in caught.value.text for path in left)


@pytest.mark.parametrize("program", ["/no/such/editor", "'unclosed"])
def test_an_editor_that_is_none(program: str) -> None:
    with pytest.raises(Failure, match="EDITOR"):
        edit_body_in_editor(api("metadata"), "{}", world(variables={"EDITOR": program}))


def test_a_record_of_the_engine_can_be_composed_again() -> None:
    text = json.dumps(RECORD).encode()
    assert compose_body(api("metadata"), 12, ["-"], env=world(text)) == {"topics": None}
