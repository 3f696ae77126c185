"""`pytest -p tests.building.compiled_types`: arguments of the modules to compile are judged as compiled code does.

Compiled code raises TypeError for an argument that is not of the declared class, which plain code takes: so a defect of
the compiled wheel is seen without the minutes of a compiler. Judged are the classes of these modules, `str`, `bytes`,
`int`, tuples by their length, and what is in a list; protocols and all else are taken as they are. Compiled code also
takes each NamedTuple for true, whatever its `__bool__` says: that is an error here.
"""

from __future__ import annotations

import builtins
import importlib.abc
import importlib.machinery
import inspect
import sys
import types
import typing
from collections import abc
from collections.abc import Callable, Collection, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
_TEXTS: Final = (str, bytes, int)
# The lists to which functions add: what is in them is not looked at.
_WRITTEN: Final = "out"
# The classes of all modules that are compiled, by their names; a name that two modules give is judged by neither.
_CLASSES: Final[dict[str, type | None]] = {}
_HINTS: Final[dict[Callable[..., Any], dict[str, Any]]] = {}


class _Names(dict[str, Any]):
    """The names of a module, and behind them the classes that it knows only while types are checked."""

    def __missing__(self, name: str) -> Any:
        if found := _CLASSES.get(name):
            return found
        if hasattr(builtins, name):
            raise KeyError(name)
        return getattr(abc, name, None) or getattr(typing, name, Any)


def _read_hints(function: Callable[..., Any]) -> dict[str, Any]:
    found = {}
    for name, text in function.__annotations__.items():
        if name == "return" or not isinstance(text, str):
            continue
        try:
            found[name] = eval(text, {}, _Names(function.__globals__))
        except Exception:  # a name that is there only for the type checker: not judged
            continue
    return found


def is_taken(value: object, hint: Any) -> bool:
    """Whether compiled code takes a value for a declared type."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(is_taken(value, part) for part in parts)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if len(parts) == 2 and parts[1] is Ellipsis:
            return True
        return len(value) == len(parts) and all(map(is_taken, value, parts))
    if origin is list:
        return isinstance(value, list) and all(is_taken(each, parts[0]) for each in value)
    if hint is None or hint is type(None):
        return value is None
    if hint in _TEXTS:
        return isinstance(value, hint)
    if typing.is_typeddict(hint):
        return isinstance(value, dict)
    if isinstance(hint, type) and _CLASSES.get(hint.__name__) is hint and not getattr(hint, "_is_protocol", False):
        return isinstance(value, hint)
    return True


def _judge_calls(function: Callable[..., Any]) -> Callable[..., Any]:
    if not function.__annotations__:
        return function
    names = inspect.getfullargspec(function)
    positional = names.args

    @wraps(function)
    def judged(*args: Any, **words: Any) -> Any:
        if (hints := _HINTS.get(function)) is None:
            hints = _HINTS[function] = _read_hints(function)
        for name, value in (*zip(positional, args, strict=False), *words.items()):
            if name in hints and name != _WRITTEN and not is_taken(value, hints[name]):
                raise TypeError(
                    f"{hints[name]} object expected for {name} of {function.__qualname__}; got {type(value)}"
                )
        return function(*args, **words)

    return judged


def judge_module(module: types.ModuleType) -> None:
    """Let every function of a module, and of its classes, judge its arguments."""
    for name, value in list(vars(module).items()):
        if getattr(value, "__module__", None) != module.__name__:
            continue
        if isinstance(value, types.FunctionType):
            setattr(module, name, _judge_calls(value))
        elif isinstance(value, type):
            _CLASSES[name] = None if name in _CLASSES else value
            for its, made in list(vars(value).items()):
                if isinstance(made, types.FunctionType):
                    setattr(value, its, _judge_calls(made))
                elif isinstance(made, (staticmethod, classmethod)):
                    setattr(value, its, type(made)(_judge_calls(made.__func__)))


class _Finder(importlib.abc.MetaPathFinder):
    """Judges modules of MODULES as they are imported."""

    def __init__(self, modules: Sequence[str]) -> None:
        self._names = {name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in modules}

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The module's own specification, with a loader that judges the module after it ran."""
        if name not in self._names:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        assert spec is not None
        assert spec.loader is not None
        run = spec.loader.exec_module

        def run_and_judge(module: types.ModuleType) -> None:
            run(module)
            judge_module(module)

        spec.loader.exec_module = run_and_judge  # type: ignore[method-assign]
        return spec


def refuse_truth_of_pair(of: type, names: Collection[str]) -> None:
    """Let the truth of a pair with a `__bool__` of its own be an error in modules of these names.

    Compiled code looks at the length of a NamedTuple alone, so it takes each for true.
    """
    truth = of.__bool__  # type: ignore[attr-defined]  # the caller knows it

    def judge_truth(value: object) -> bool:
        if sys._getframe(1).f_globals["__name__"] in names:
            raise TypeError(f"compiled code takes each {of.__qualname__} for true")
        told: bool = truth(value)
        return told

    of.__bool__ = judge_truth  # type: ignore[attr-defined]


def _install() -> None:
    from decoders.mypyc_modules import MODULES

    finder = _Finder(MODULES)
    early = [name for name in finder._names if name in sys.modules]
    sys.meta_path.insert(0, finder)
    assert not early, early
    from decoders.schema.api_declaration import Versions

    refuse_truth_of_pair(Versions, finder._names)


_install()
