"""`NamedTuple` as that of `typing`, for a tenth of the time that a class takes to define.

The problem. `kw` defines a hundred named tuples before its first byte. For each of them `typing` compiles every
annotation and a constructor: together a tenth of the time that a command takes to start.

The idea. Annotations stay text, and a constructor is compiled at the first call. Type checkers, and mypyc in the wheel
of compiled modules, see the class of `typing`.

What is given up: two checks of `typing` that type checkers make as well (names that begin with an underscore, a field
without a default behind one with a default), and its `__doc__` for classes without one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

__all__ = ["NamedTuple"]

if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from collections import _tuplegetter  # the descriptor of a field, as namedtuple() has them

    class _FieldsAsSignature:
        """The signature of a class: its fields as parameters. It is made when `inspect` or `help` asks for it."""

        def __get__(self, made: object, cls: type) -> Any:
            import inspect
            import typing

            try:
                kinds = typing.get_type_hints(cls)
            except NameError:  # a type that only type checkers import
                kinds = cls.__annotations__
            return inspect.Signature(
                inspect.Parameter(
                    name,
                    inspect.Parameter.POSITIONAL_OR_KEYWORD,
                    default=cls._field_defaults.get(name, inspect.Parameter.empty),
                    annotation=kinds.get(name, inspect.Parameter.empty),
                )
                for name in cls._fields
            )

    class _Fields(tuple):
        """What all named tuples have."""

        __slots__ = ()
        __signature__ = _FieldsAsSignature()

        def __new__(cls, *values: Any, **named: Any) -> Any:
            made = next(each for each in cls.__mro__ if "_fields" in each.__dict__)
            made.__new__ = _make_constructor(made)
            return made.__new__(cls, *values, **named)

        @classmethod
        def _make(cls, values: Iterable[Any]) -> Any:
            made = tuple.__new__(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
            return made

        def _replace(self, /, **named: Any) -> Any:
            made = self._make(map(named.pop, self._fields, self))
            if named:
                raise ValueError(f"Got unexpected field names: {list(named)!r}")
            return made

        def _asdict(self) -> dict[str, Any]:
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self) -> str:
            values = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({values})"

        def __getnewargs__(self) -> tuple[Any, ...]:
            return tuple(self)

    def _make_constructor(made: type) -> Any:
        """`__new__` of a class, with its fields as parameters."""
        fields, defaults = made._fields, made._field_defaults
        parameters = ", ".join(f"{name}=_of[{name!r}]" if name in defaults else name for name in fields)
        code = f"lambda _class, {parameters}: _new(_class, ({''.join(f'{name}, ' for name in fields)}))"
        found = eval(code, {"_new": tuple.__new__, "_of": defaults})
        found.__name__ = "__new__"
        found.__qualname__ = f"{made.__qualname__}.__new__"
        found.__doc__ = f"Make a {made.__name__}."
        return found

    class _Meta(type):
        """Makes a class of fields of the body of a class statement."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
            fields = body["_fields"] = body["__match_args__"] = tuple(body.get("__annotations__", ()))
            body["_field_defaults"] = {field: body[field] for field in fields if field in body}
            body["__slots__"] = ()
            for at, field in enumerate(fields):
                body[field] = _tuplegetter(at, None)
            return type(name, (_Fields, *bases[1:]), body)

    class NamedTuple:
        """The base of a class statement; the class that is made has `tuple` for one."""

        def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type]:
            return (_MARK,)

    _MARK = type.__new__(_Meta, "NamedTuple", (), {})
    NamedTuple = NamedTuple()
