"""Named tuples are what those of `typing` are."""

from __future__ import annotations

import copy
import inspect
import pickle
import typing
from collections.abc import Callable
from typing import Any

import pytest

from decoders.named_tuple import NamedTuple

if typing.TYPE_CHECKING:
    from types import SimpleNamespace as NoSuchType


class Ours(NamedTuple):
    """A row."""

    new: int
    cls: str | None
    defaults: tuple[int, ...] = ()
    flag: bool = False

    @property
    def first(self) -> int:
        """The first of the defaults."""
        return self.defaults[0] if self.defaults else self.new

    @classmethod
    def of(cls, new: int) -> typing.Self:
        """With a number alone."""
        return cls(new, None)


class Theirs(typing.NamedTuple):
    """A row."""

    new: int
    cls: str | None
    defaults: tuple[int, ...] = ()
    flag: bool = False


class Derived(Ours):
    """A row with another property."""

    __slots__ = ()

    @property
    def first(self) -> int:
        """Always 7."""
        return 7


class Nothing(NamedTuple):
    """No field."""


class Hidden(NamedTuple):
    """A field of a type that is not there at run time."""

    known: int
    hidden: NoSuchType


@pytest.mark.parametrize(
    "use",
    [
        lambda kind: kind(1, "a"),
        lambda kind: kind(1, cls="a", flag=True),
        lambda kind: kind(cls="a", new=1),
        lambda kind: kind(1, "a") == (1, "a", (), False),
        lambda kind: hash(kind(1, "a")),
        lambda kind: kind._make([1, "a", (2,), True]),
        lambda kind: kind._make([1]),
        lambda kind: kind(1, "a")._replace(flag=True),
        lambda kind: kind(1, "a")._replace(none=True),
        lambda kind: kind(1, "a")._asdict(),
        lambda kind: kind(1),
        lambda kind: kind(1, "a", (), True, 5),
        lambda kind: kind(1, "a", none=5),
        lambda kind: kind(1, "a", new=5),
        lambda kind: kind(1, "a").__getnewargs__(),
        lambda kind: (kind._fields, kind._field_defaults, kind.__match_args__, kind.__doc__),
        lambda kind: setattr(kind(1, "a"), "new", 2),
        lambda kind: setattr(kind(1, "a"), "other", 2),
        lambda kind: copy.deepcopy(kind(1, "a", (2,))),
    ],
)
def test_a_use_has_the_same_outcome(use: Callable[[Any], object]) -> None:
    assert outcome(use, Ours) == outcome(use, Theirs)


def outcome(use: Callable[[Any], object], kind: Any) -> str:
    """The result of a use of a class, or its error, without the name of the class."""
    try:
        found = repr(use(kind))
    except (TypeError, ValueError, AttributeError) as error:
        found = f"{type(error).__name__}: {error}"
    return found.replace(kind.__name__, "KIND")


def test_methods_and_classes_derived_from_it() -> None:
    assert (Ours.of(3).first, Ours(1, None, (5, 6)).first, Derived(1, "a").first) == (3, 5, 7)
    assert (type(Derived.of(1)), Derived(1, "a").flag, repr(Derived.of(1))[:12]) == (Derived, False, "Derived(new=")
    assert (Nothing(), Nothing._fields) == ((), ())
    match Ours(1, "b"):
        case Ours(new, cls):
            assert (new, cls) == (1, "b")


@pytest.mark.parametrize("row", [Ours(1, "a"), Derived(1, "a"), Nothing()], ids=repr)
def test_it_is_pickled(row: tuple[object, ...]) -> None:
    found = pickle.loads(pickle.dumps(row))
    assert (type(found), found) == (type(row), row)


def test_signatures_are_the_fields() -> None:
    theirs = inspect.signature(Theirs)
    for made in (Ours, Derived):
        named = [(each.name, each.kind, each.default) for each in inspect.signature(made).parameters.values()]
        assert named == [(each.name, each.kind, each.default) for each in theirs.parameters.values()]
    assert str(inspect.signature(Ours)) == (
        "(new: int, cls: str | None, defaults: tuple[int, ...] = (), flag: bool = False)"
    )
    assert str(inspect.signature(Nothing)) == "()"
    Ours(1, None)  # its constructor is made at the first call
    assert list(inspect.signature(Ours).parameters) == list(Ours._fields)


def test_a_signature_has_the_text_of_types_that_only_type_checkers_know() -> None:
    assert str(inspect.signature(Hidden)) == "(known: 'int', hidden: 'NoSuchType')"
