"""Values of real serializers are what was sent: each recording, with schemas of each of the four sources."""

from __future__ import annotations

import json
from base64 import b64decode
from binascii import Error as NotBase64
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from kwcli.run_environment import Environment
from tests.captures.shipped import FOLDER, capture_bytes
from tests.cli.worlds import kw, world
from tests.reading.test_value_schemas import SlowPipe
from tests.serializers.registry_double import CCOMPAT, RegistryDouble, Row, registry_double

VALUES: Final = FOLDER / "values"
RECORDINGS: Final = sorted(file.name.partition(".")[0] for file in VALUES.glob("*.json"))
_SUFFIXES: Final = {"AVRO": "avsc", "PROTOBUF": "proto", "JSON": "json"}


@cache
def written(name: str, folder: Path = VALUES) -> dict[str, Any]:
    """What a scene wrote: its records, and the schemas of its registry."""
    found: dict[str, Any] = json.loads((folder / f"{name}.json").read_text())
    return found


def capture_of(name: str, folder: Path = VALUES) -> str:
    return str(folder / f"{name}.pcapng.zst")


def shown(*words: str, env: Environment | None = None) -> dict[str, list[list[Row]]]:
    """The records that a run shows by topic: a list for each request or answer that has some."""
    run = kw("sniff", *words, "--records", "-o", "ndjson", env=env)
    assert run.code == 0, run.err
    found: dict[str, list[list[Row]]] = {}
    for line in run.out.splitlines():
        row = json.loads(line)
        names = row.get("topic_names", {})
        for side, topics in (("request", "topic_data"), ("response", "responses")):
            for topic in (row.get(side) or {}).get(topics) or ():
                name = topic.get("name") or topic.get("topic") or names.get(topic.get("topic_id"))
                for part in topic.get("partition_data") or topic.get("partition_responses") or topic["partitions"]:
                    records = [each for batch in part.get("records") or () for each in batch["records"]]
                    if records:
                        found.setdefault(name, []).append(records)
    return found


def assert_values_are_what_was_sent(
    name: str, found: dict[str, list[list[Row]]], kinds: set[str], left_out: str = "", folder: Path = VALUES
) -> None:
    """Each record of a recording says what its program sent, wherever it is seen, by schemas of these sources."""
    wanted: dict[str, list[Row]] = {}
    for row in written(name, folder)["records"]:
        if row["topic"] == left_out:
            continue
        wanted.setdefault(row["topic"], []).append(row)
    assert wanted.keys() <= found.keys()
    sources = set()
    for topic, rows in wanted.items():
        assert {len(records) for records in found[topic]} == {len(rows)}, topic
        for records in found[topic]:
            for record, row in zip(records, rows, strict=True):
                for field in ("key", "value"):
                    said = record.get(f"{field}_decoded")
                    if row[field] is None:
                        continue
                    assert said is not None, record
                    assert {each: said[each] for each in ("format", "name", "value")} == row[field], said
                    assert not {"guessed", "missing_schema", "error"} & said.keys(), said
                    sources.add(said["schema_from"]["kind"])
    assert sources == kinds


@pytest.mark.parametrize("name", RECORDINGS)
def test_captures_decode_with_no_option_given(name: str) -> None:
    assert_values_are_what_was_sent(name, shown(capture_of(name)), {"capture"})


def test_half_of_the_schemas_come_after_the_first_value() -> None:
    after = [name for name in RECORDINGS if written(name)["schema_comes"] == "after"]
    assert len(RECORDINGS) // 2 <= len(after) < len(RECORDINGS)
    for name in after:
        # A pipe is read once: what it shows of the first values is not decoded yet.
        env = world()
        env.stdin = SlowPipe(capture_bytes(f"values/{name}.pcapng.zst"))
        found = shown("-", env=env)
        topic = written(name)["records"][0]["topic"]
        assert found[topic][0][0]["value_decoded"].get("missing_schema") is True


def write_schema_files(name: str, folder: Path) -> None:
    """The schemas of a recording as files, and which of them ids and GUIDs mean."""
    ids: dict[str, str] = {}
    for number, row in enumerate(written(name)["schemas"]):
        kind, text = row.get("schemaType", "AVRO"), row["schema"]
        file = f"{number}.{_SUFFIXES[kind]}"
        # References name the path of a file, or a type: which the file's own text says.
        if row["subject"].endswith((".proto", ".json")):
            file = row["subject"]
        data: bytes = text.encode()
        if kind == "PROTOBUF":
            try:
                descriptor = b64decode(text, validate=True)
            except (NotBase64, ValueError):
                pass
            else:
                file = f"{number}.desc"
                data = b"\x0a" + _varint(len(descriptor)) + descriptor
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(data)
        if ":." in row["subject"]:
            ids[row["subject"].rpartition(":")[2]] = file
            continue
        for key in ("id", "global_id"):
            if key in row:
                ids[str(row[key])] = file
        if "guid" in row:
            ids[row["guid"]] = file
    (folder / "ids.json").write_text(json.dumps(ids))


def _varint(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + _varint(number >> 7)


@pytest.mark.long
@pytest.mark.parametrize("name", RECORDINGS)
def test_schemas_of_files_come_first(name: str, tmp_path: Path) -> None:
    write_schema_files(name, tmp_path)
    assert_values_are_what_was_sent(name, shown(capture_of(name), "--schemas", str(tmp_path)), {"file"})


@pytest.mark.long
@pytest.mark.parametrize("name", RECORDINGS)
def test_a_live_registry_and_the_cache_have_the_same_schemas(name: str, tmp_path: Path) -> None:
    home = {"XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    bare = tmp_path / "bare.pcapng"
    topics = [word for topic in {row["topic"] for row in written(name)["records"]} for word in ("--topic", topic)]
    # The packets of these rows alone: neither `_schemas` nor HTTP.
    assert kw("sniff", capture_of(name), "-q", "-w", str(bare), *topics).code == 0
    not_asked = "parcels"  # the ids of its context: a registry is asked for those of the default one
    with registry_double(RegistryDouble(written(name)["schemas"])) as double:
        words = (str(bare), "-X", f"schema.registry.url={double.url}{CCOMPAT if 'apicurio' in name else ''}")
        assert_values_are_what_was_sent(name, shown(*words, env=world(variables=home)), {"registry"}, not_asked)
        found = double.found
        assert_values_are_what_was_sent(name, shown(*words, env=world(variables=home)), {"cache"}, not_asked)
        assert double.found == found  # ids that it does not know are asked for again
