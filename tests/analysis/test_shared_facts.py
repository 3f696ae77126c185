"""What folds ask of an exchange is found once for all of them; answers are those of folds that share nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from decoders import Needs, read_exchanges
from decoders.analysis import exchange_facts, read_dimension_values
from decoders.analysis.client_compatibility import Audit
from decoders.analysis.exchange_facts import OFFERED, ExchangeFacts
from decoders.analysis.portraits import client_and_broker_portraits
from decoders.analysis.portraits.client_and_broker_portraits import Brokers
from decoders.analysis.sum_amounts_by_key import Tally
from decoders.exchanges.exchange import Exchange
from decoders.protocol_facts.api_keys import API_VERSIONS
from tests.captures.shipped import FOLDER
from tests.cli.worlds import kw

TOUR: Final = FOLDER / "tour.pcapng"
OTHERS: Final = sorted(
    path
    for path in FOLDER.rglob("*")
    if path.name.endswith((".pcap", ".pcapng", ".pcap.gz", ".pcapng.zst")) and path.is_file() and path != TOUR
)
MODULES: Final = (client_and_broker_portraits, exchange_facts, read_dimension_values)
ANSWERS: Final[tuple[tuple[str, ...], ...]] = (
    ("report", "-o", "json"),
    ("doctor", "-v", "-o", "ndjson"),
    *((command, "-o", "ndjson") for command in ("clients", "groups", "topics", "brokers", "audit")),
    ("stats", "--by", "topic,client,group", "--slowest", "5", "-o", "json"),
)

pytestmark = pytest.mark.plain  # compiled functions call each other directly


def test_a_report_finds_each_fact_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found: Counter[tuple[object, ...]] = Counter()
    seen: list[Exchange] = []  # kept, so that no other exchange gets the same id

    def count_calls_of(module: Any, name: str) -> None:
        find: Callable[..., Any] = getattr(module, name)

        def counted(exchange: Exchange, *more: object) -> Any:
            seen.append(exchange)
            found[name, id(exchange), *more] += 1
            return find(exchange, *more)

        monkeypatch.setattr(module, name, counted)

    count_calls_of(read_dimension_values, "_find_topics")
    count_calls_of(exchange_facts, "_compute_wait_by_design_ns")
    count_calls_of(client_and_broker_portraits, "_names_of_entity")
    count_calls_of(exchange_facts, "_find_offered_versions")
    assert kw("report", str(TOUR), "-q", "-o", "json").out
    assert len({key[0] for key in found}) == 4
    assert len(found) > 300
    assert set(found.values()) == {1}


@pytest.mark.parametrize("make", [Audit, Brokers])
def test_versions_that_a_broker_offers_again_are_joined_once(
    monkeypatch: pytest.MonkeyPatch, make: Callable[[], Any]
) -> None:
    needs = Needs({(API_VERSIONS, "response"): sorted(OFFERED)})
    with TOUR.open("rb") as file:
        exchanges = read_exchanges(file, needs=needs)
        answer = next(each for each in exchanges if each.api_key == API_VERSIONS and not each.errors)
    joined: list[tuple[Any, ...]] = []
    join = Tally.join_amounts

    def noted(self: Tally, key: tuple[Any, ...], amounts: Sequence[int]) -> None:
        joined.append(key)
        join(self, key, amounts)

    monkeypatch.setattr(Tally, "join_amounts", noted)
    fold = make()
    fold.learn(answer)
    assert len(joined) == len(answer.view("response")["api_keys"]) > 50
    before = fold.export()
    fold.learn(answer)
    assert len(joined) == len(answer.view("response")["api_keys"])
    assert fold.export() == before


@pytest.mark.long
@pytest.mark.parametrize(
    "path", [TOUR, *(pytest.param(path, marks=pytest.mark.long) for path in OTHERS)], ids=lambda path: path.name
)
def test_answers_are_those_of_folds_that_share_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, path: Path
) -> None:
    def answer_all(page: Path) -> list[object]:
        answers: list[object] = [kw(*words, str(path), "-q") for words in ANSWERS]
        kw("report", str(path), "-q", "--html", str(page))
        return [*answers, page.read_bytes()]

    shared = answer_all(tmp_path / "shared.html")
    for module in MODULES:
        monkeypatch.setattr(module, "facts_of_exchange", lambda _: ExchangeFacts())
    assert answer_all(tmp_path / "alone.html") == shared
