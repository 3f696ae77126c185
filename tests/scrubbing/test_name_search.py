"""Names and secrets are found in every form in which they may be left."""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode

import pytest

from decoders.scrubbing.search_names_in_bytes import NameSearch, select_searchable_names

NAME = b"orders-of-\xc3\xa9t\xc3\xa9-7"


@pytest.mark.parametrize("before", [b"", b"a", b"ab", b"\0\1\2\3"])
@pytest.mark.parametrize("behind", [b"", b"z", b"\0\0"])
@pytest.mark.parametrize(
    "form",
    [
        lambda data: data,
        lambda data: data.hex().encode(),
        lambda data: data.hex().upper().encode(),
        b64encode,
        urlsafe_b64encode,
    ],
)
def test_forms(form: object, before: bytes, behind: bytes) -> None:
    search = NameSearch({NAME: NAME})
    search.feed(b"\x01\xff" + form(before + NAME + behind) + b"\xff\x02")  # type: ignore[operator]
    assert search.found == {NAME}
    other = NameSearch({NAME: NAME})
    other.feed(b"\x01\xff" + form(before + NAME[:-1] + behind) + b"\xff\x02")  # type: ignore[operator]
    assert other.found == set()


def test_what_stays_or_is_short_is_left_out() -> None:
    names = [b"abc", b"orders", b"consumer", b"payments-of-2026", b"\0\1\2\3\4\5\6\7", b"xxxxxxxxxxx"]
    found, left = select_searchable_names(names, ["a consumer of them"], 10)
    assert set(found) == {b"orders", b"payments-of-2026"}
    assert left == 4


def test_of_a_name_with_controls_the_longest_text_is_searched_for() -> None:
    found, _ = select_searchable_names([b"ab\0payments\0cd"], [], 10)
    assert found == {b"payments": b"ab\0payments\0cd"}


def test_longer_names_are_wanted_where_there_is_more_to_find_them_in() -> None:
    assert select_searchable_names([b"orders"], [], 10)[0]
    assert not select_searchable_names([b"orders"], [], 10**9)[0]
