"""Error answers against those of Kafka's own classes (AbstractRequest.getErrorResponse), field by field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from uuid import UUID

import pytest

from decoders.apis import api
from decoders.messages.error_answers import make_error_answer
from decoders.messages.whole_messages import decode_message, encode_message
from decoders.protocol_facts.errors.error_codes import ERRORS
from decoders.protocol_facts.kafka_releases import api_versions_of_release
from decoders.schema.api_declaration import NONE, Plan, PlanField, resolve
from tests.broker.jars import Missing, client_jars, explain_missing_tools
from tests.oracle.java_oracle import Java
from tests.reference.jars import PATCHES

pytestmark = pytest.mark.oracle

NEWEST: Final = PATCHES[-1]
# The release with the versions that 4.0 removed.
OLDER: Final = "3.9.2"
THROTTLE_MS: Final = 77
# An error of a whole request, and one of partitions.
INVALID_REQUEST: Final = 42
NOT_LEADER: Final = 6
# (API, version) of each form: partitions, groups, resources, top level, a list of names, no throttle time.
SAMPLE: Final = ((0, 13), (1, 12), (1, 18), (3, 0), (9, 1), (9, 10), (10, 6), (44, 1), (51, 0), (61, 0), (88, 1))

_OWN_WORDS = "Kafka's sentence on the error; ours says what it means in our own words"
_NO_THROTTLE = "Kafka's classes drop the throttle time that they are given; clients obey the field, so ours holds it"
# (API key, path, error or None for any) → why our value differs.
DIFFERENT: Final[dict[tuple[int, str, int | None], str]] = {
    **{(key, "throttle_time_ms", None): _NO_THROTTLE for key in (10, 23, 44, 51, 60, 61)},
    **{
        (key, path, None): _OWN_WORDS
        for key, path in (
            (10, "error_message"),
            (10, "coordinators[].error_message"),
            (32, "results[].error_message"),
            (49, "entries[].error_message"),
            (55, "error_message"),
            (64, "error_message"),
            (70, "error_message"),
            (80, "error_message"),
            (81, "error_message"),
            (84, "results[].partitions[].error_message"),
            (85, "results[].partitions[].error_message"),
            (87, "results[].partitions[].error_message"),
            (90, "groups[].error_message"),
            (91, "error_message"),
            (92, "error_message"),
            (94, "error_message"),
        )
    },
    (50, "results[].user", None): "Kafka's classes leave the names out; brokers' answers have them",
    (1, "responses[].partitions[].records", None): "no records are an empty field, as brokers send it; 3.9 says null",
    **{
        (key, path, NOT_LEADER): "brokers say it of partitions; Kafka's classes know only errors of the whole request"
        for key, path in (
            (1, "error_code"),
            (1, "responses"),
            (78, "error_code"),
            (78, "responses"),
            (79, "error_code"),
            (79, "responses"),
        )
    },
    (1, "session_id", NOT_LEADER): "the session is over, since its broker did not see the request",
}


def test_sample() -> None:
    """Some answers of each form, against the newest release."""
    assert not wrong_answers(NEWEST, list(SAMPLE), INVALID_REQUEST)[0]


@pytest.mark.long
def test_every_api_and_version() -> None:
    newest = [(key, version) for key, versions in api_versions_of_release("4.4").items() for version in _all(versions)]
    older = [
        (key, version)
        for key, versions in api_versions_of_release("3.9").items()
        for version in _all(versions)
        if version not in api_versions_of_release("4.4").get(key, NONE)
    ]
    assert len(newest) + len(older) >= sum(api(key).versions.high + 1 for key in (0, 1, 2, 3)) + 300
    wrong: list[str] = []
    met: set[tuple[int, str, int | None]] = set()
    for release, asked in ((NEWEST, newest), (OLDER, older)):
        for code in (INVALID_REQUEST, NOT_LEADER):
            found, its = wrong_answers(release, asked, code)
            wrong += found
            met |= its
    assert not wrong, "\n".join(wrong[:60])
    assert met == set(DIFFERENT)


def _all(versions: Any) -> range:
    return range(versions.low, versions.high + 1)


def wrong_answers(
    release: str, asked: list[tuple[int, int]], code: int
) -> tuple[list[str], set[tuple[int, str, int | None]]]:
    """The differences that no row of DIFFERENT explains, and the rows of DIFFERENT that were needed."""
    problem = explain_missing_tools()
    if problem:
        pytest.skip(problem)
    try:
        java = Java(release, client_jars)
    except Missing as missing:
        pytest.skip(str(missing))
    requests = {case: filled(resolve(api(case[0]).request, case[1]), iter(range(1, 100000))) for case in asked}
    questions: list[list[object]] = [
        ["error_answer", key, version, encode_message(key, version, "request", value).hex(), code, THROTTLE_MS]
        for (key, version), value in requests.items()
    ]
    try:
        answers = java.ask(questions)
    finally:
        java.close()
    wrong: list[str] = []
    met: set[tuple[int, str, int | None]] = set()
    for ((key, version), request), theirs in zip(requests.items(), answers, strict=True):
        place = f"{api(key).name} {version} {ERRORS[code].name}"
        if not isinstance(theirs, str):
            wrong.append(f"{place}: {theirs}")
            continue
        answer = make_error_answer(key, version, request, code, throttle_ms=THROTTLE_MS)
        assert answer.body is not None
        ours = decode_message(key, version, "response", encode_message(key, version, "response", answer.body))
        for path, text in unlike(ours, decode_message(key, version, "response", bytes.fromhex(theirs)), ""):
            row = next((each for each in ((key, path, code), (key, path, None)) if each in DIFFERENT), None)
            if row is None:
                wrong.append(f"{place} {path}: {text}")
            else:
                met.add(row)
    return wrong, met


def filled(plan: Plan, numbers: Iterator[int]) -> dict[str, Any]:
    """A request that names two of everything, all values different."""
    return {field.name: _field(field, numbers) for field in (*plan.fields, *plan.tagged)}


def _field(field: PlanField, numbers: Iterator[int]) -> Any:
    return [_one(field, numbers), _one(field, numbers)] if field.array else _one(field, numbers)


def _one(field: PlanField, numbers: Iterator[int]) -> Any:
    number = next(numbers)
    if field.plan is not None:
        return filled(field.plan, numbers)
    if field.name == "security_protocol":
        return 0  # Kafka's classes know few of these numbers
    values = {
        "string": f"{field.name}-{number}",
        "bool": True,
        "bytes": b"",
        "records": b"",
        "uuid": UUID(int=number),
        "float64": float(number),
    }
    return values.get(field.kind, number % 100)


def unlike(ours: Any, theirs: Any, path: str) -> Iterator[tuple[str, str]]:
    """The paths at which two values differ; the order of lists does not count: Kafka's classes keep topics in maps."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in {**ours, **theirs}:
            yield from unlike(ours.get(name), theirs.get(name), f"{path}.{name}".lstrip("."))
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for mine, its in zip(sorted(ours, key=str), sorted(theirs, key=str), strict=True):
            yield from unlike(mine, its, f"{path}[]")
    elif ours != theirs:
        yield path, f"we have {ours!r:.60}, Kafka {theirs!r:.60}"
