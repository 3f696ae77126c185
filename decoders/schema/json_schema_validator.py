"""A JSON Schema in, a function out that finds the first part of a JSON value which does not fit the schema.

The problem. Each line of NDJSON is checked before anything else sees its values, so the check must cost little beside
reading the line; and the schema that is published must be the only list of what a line may have.

The idea. A schema becomes nested functions, once. Most properties take some types whole (text, null, any number): these
are looked up in a set, without a call. Only a value that does not fit makes an object (`Misfit`), to which each level
adds its part of the path.

Four rules differ from the schema's own words, on purpose. Properties that it does not name may be there, because a
newer kw may have written them. Parts that it does not describe have no more than a few levels, except where it says
that there may be any property (`additionalProperties: true`): those are checked elsewhere. A float is no integer, even
1.0. Text that the schema calls base64 is base64.
"""

from __future__ import annotations

import re
from binascii import Error as NotBase64
from binascii import a2b_base64
from collections.abc import Callable, Mapping
from typing import Any, Final

from decoders.schema.body_json_form import has_at_most_levels, quote_json

__all__ = ["Check", "Misfit", "compile_json_schema"]

Schema = Mapping[str, Any]


class Misfit:
    """A part of a value that does not fit: the steps of its path, the innermost first; the value; what it should be.

    `otherwise` says what is wrong where it is not the value as such. Texts are made when they are asked for: most
    misfits only say that a condition does not hold.
    """

    __slots__ = ("_otherwise", "_steps", "_value", "_wanted")

    def __init__(self, value: Any, wanted: str, otherwise: str = "") -> None:
        self._steps: list[str | int] = []
        self._value = value
        self._wanted = wanted
        self._otherwise = otherwise

    def add_step(self, step: str | int) -> Misfit:
        """The same, seen from the value that holds this one under a key or index."""
        self._steps.append(step)
        return self

    @property
    def path(self) -> str:
        """The path from the value that was checked: `errors[0].code`; empty where that value itself does not fit."""
        found = ""
        for step in reversed(self._steps):
            if isinstance(step, int) or _PLAIN_NAME.fullmatch(step) is None:
                found += f"[{quote_json(step)}]"
            else:
                found += f".{step}" if found else step
        return found

    @property
    def sentence(self) -> str:
        """The path with what is wrong: `errors[0].code is null, not an integer`."""
        return f"{self.path or 'it'} {self._otherwise or f'is {quote_json(self._value)}, not {self._wanted}'}"


Check = Callable[[Any], "Misfit | None"]

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "null": (type(None),),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "string": (str,),
    "array": (list,),
    "object": (dict,),
}
_WORDS: Final[Mapping[str, str]] = {
    "null": "null",
    "boolean": "true or false",
    "integer": "an integer",
    "number": "a number",
    "string": "text",
    "array": "an array",
    "object": "an object",
}
# Keywords by the type that they restrict; values of other types pass.
_OF_NUMBERS: Final = frozenset({"minimum", "maximum"})
_OF_TEXT: Final = frozenset({"pattern", "minLength", "contentEncoding"})
_OF_ARRAYS: Final = frozenset({"items", "minItems", "maxItems"})
_OF_OBJECTS: Final = frozenset(
    {"properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties"}
)
_OF_ANY: Final = frozenset({"$ref", "type", "const", "enum", "anyOf", "allOf", "not", "if", "then", "else"})
_OF_SCALARS: Final = _OF_NUMBERS | _OF_TEXT | {"type"}
_SAYING_NOTHING: Final = frozenset({"description", "title", "$schema", "$defs", "version"})
_KNOWN: Final = _OF_NUMBERS | _OF_TEXT | _OF_ARRAYS | _OF_OBJECTS | _OF_ANY | _SAYING_NOTHING
_NONE: Final[frozenset[type]] = frozenset()
_ALL: Final = frozenset(kind for kinds in _TYPES.values() for kind in kinds)
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_$][\w$]{,40}", re.ASCII)


# The types of which every value fits, and the check of the others.
Rule = tuple[frozenset[type], Check]
FindRule = Callable[[str], Rule]


def compile_json_schema(schema: Schema, root: Schema | None = None) -> Check:
    """The check of a schema, whose references are those of `root`. Raises ValueError for a keyword that it lacks."""
    return _Compiler(root or schema).compile_check(schema)


class _Compiler:
    """Compiles the schemas of one document; `$ref` schemas once each."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._made: dict[str, Check] = {}
        self._in_condition = 0  # conditions restrict what is described elsewhere

    def compile_check(self, schema: Schema) -> Check:
        """The function that checks a value."""
        if unknown := set(schema) - _KNOWN:
            raise ValueError(f"no keywords of a schema: {sorted(unknown)}")
        checks = [made for made in self._compile_checks(schema) if made is not None]
        if self._allows_unchecked_nesting(schema):
            checks.append(_check_nesting_depth)
        if not checks:
            return _accept_any_value
        return checks[0] if len(checks) == 1 else _make_all_of_check(tuple(checks))

    def _compile_checks(self, schema: Schema) -> list[Check | None]:
        said = schema.keys()
        return [
            self._compile_reference(schema["$ref"]) if "$ref" in said else None,
            _make_scalar_check(schema) if said & _OF_SCALARS else None,
            _make_enum_check([schema["const"]] if "const" in said else schema["enum"])
            if said & {"const", "enum"}
            else None,
            self._compile_any_of(schema) if "anyOf" in said else None,
            self._compile_array(schema) if said & _OF_ARRAYS else None,
            self._compile_object(schema) if said & _OF_OBJECTS else None,
            *self._compile_conditions(schema),
        ]

    def _compile_conditions(self, schema: Schema) -> list[Check]:
        self._in_condition += 1
        made = [self.compile_check(each) for each in schema.get("allOf", ())]
        made += [self._compile_condition(schema)] if "if" in schema else []
        made += [self._compile_not(schema["not"])] if "not" in schema else []
        self._in_condition -= 1
        return made

    def _find_definition(self, name: str) -> Schema:
        found: Any = self._root
        for step in name.removeprefix("#/").split("/"):
            found = found[step]
        return found  # type: ignore[no-any-return]  # a schema is an object

    def _compile_reference(self, name: str) -> Check:
        known = self._made.get(name)
        if known is None:
            known = self._made[name] = self.compile_check(self._find_definition(name))
        return known

    def _allows_unchecked_nesting(self, schema: Schema) -> bool:
        """Whether values may hold arrays or objects of which the schema says nothing."""
        said = schema.keys() - _SAYING_NOTHING
        if self._in_condition or said & (_OF_ANY - {"type"}):
            return False
        types = set(_python_types_of_names(schema["type"])) if "type" in said else _ALL
        return (list in types and "items" not in said) or (dict in types and not said & _OF_OBJECTS)

    def types_that_always_fit(self, schema: Schema) -> frozenset[type]:
        """The types of which every value fits."""
        said = schema.keys() - _SAYING_NOTHING
        if not said:
            return _ALL - {dict, list}
        if said == {"$ref"}:
            return self.types_that_always_fit(self._find_definition(schema["$ref"]))
        if said == {"anyOf"}:
            return frozenset().union(*(self.types_that_always_fit(each) for each in schema["anyOf"]))
        if "type" not in said:
            return _NONE
        found = set(_python_types_of_names(schema["type"]))
        if self._allows_unchecked_nesting(schema):
            found -= {dict, list}
        others = said - {"type"}
        for keywords, types in (
            (_OF_NUMBERS, (int, float)),
            (_OF_TEXT, (str,)),
            (_OF_ARRAYS, (list,)),
            (_OF_OBJECTS, (dict,)),
            (_OF_ANY, tuple(_ALL)),
        ):
            if others & keywords:
                found -= set(types)
        return frozenset(found)

    def _compile_property_rule(self, schema: Schema) -> Rule:
        return self.types_that_always_fit(schema), self.compile_check(schema)

    def _compile_any_of(self, schema: Schema) -> Check:
        branches = [(self._list_types_of_schema(each), self.compile_check(each)) for each in schema["anyOf"]]
        wanted = " or ".join(dict.fromkeys(word for each in schema["anyOf"] for word in self._list_type_words(each)))
        by_type = {kind: tuple(check_any_of for kinds, check_any_of in branches if kind in kinds) for kind in _ALL}

        def check_any_of(value: Any) -> Misfit | None:
            misfit = None
            for each in by_type[value.__class__]:
                misfit = each(value)
                if misfit is None:
                    return None
            return misfit or Misfit(value, wanted)

        return check_any_of

    def _list_types_of_schema(self, schema: Schema) -> frozenset[type]:
        """The types that a schema names."""
        if "$ref" in schema:
            return self._list_types_of_schema(self._find_definition(schema["$ref"]))
        return frozenset(_python_types_of_names(schema["type"])) if "type" in schema else _ALL

    def _list_type_words(self, schema: Schema) -> list[str]:
        if "$ref" in schema:
            return self._list_type_words(self._find_definition(schema["$ref"]))
        types = schema.get("type", [])
        if "required" in schema and types == "object":
            return [f"{{{', '.join(schema['required'])}}}"]
        return [_WORDS[name] for name in ([types] if isinstance(types, str) else types)]

    def _compile_array(self, schema: Schema) -> Check:
        low, high = schema.get("minItems", 0), schema.get("maxItems")
        types, check_item = (
            self._compile_property_rule(schema["items"]) if "items" in schema else (_ALL, _accept_any_value)
        )

        def check_array(value: Any) -> Misfit | None:
            if value.__class__ is not list:
                return None
            if len(value) < low or (high is not None and len(value) > high):
                wanted = low if low == high else f"{low} to {high}" if high is not None else f"{low} or more"
                return Misfit(None, "", f"has {len(value):,} elements, not {wanted}")
            for index, each in enumerate(value):
                if each.__class__ not in types:
                    misfit = check_item(each)
                    if misfit is not None:
                        return misfit.add_step(index)
            return None

        return check_array

    def _compile_object(self, schema: Schema) -> Check:
        rules = {name: self._compile_property_rule(each) for name, each in schema.get("properties", {}).items()}
        required, least = schema.get("required", []), schema.get("minProperties", 0)
        patterns = schema.get("patternProperties", {}).items()
        others = schema.get("additionalProperties", False)
        rule_of = None
        if patterns or isinstance(others, Mapping) or "propertyNames" in schema:
            rule_of = _make_rule_finder(
                self.compile_check(schema.get("propertyNames", {})),
                [(_compile_pattern(pattern), self._compile_property_rule(each)) for pattern, each in patterns],
                self._compile_property_rule(others) if isinstance(others, Mapping) else None,
            )
        return (
            _make_properties_check(rules, required, least, rule_of)
            if required or least or rule_of
            else _make_given_properties_check(rules)
        )

    def _compile_condition(self, schema: Schema) -> Check:
        condition = self.compile_check(schema["if"])
        then, otherwise = self.compile_check(schema.get("then", {})), self.compile_check(schema.get("else", {}))

        def check_condition(value: Any) -> Misfit | None:
            return then(value) if condition(value) is None else otherwise(value)

        return check_condition

    def _compile_not(self, schema: Schema) -> Check:
        inner = self.compile_check(schema)
        names = ", ".join(schema.get("required", ()))
        otherwise = f"has {names}" if names else "is what it must not be"

        def check_not(value: Any) -> Misfit | None:
            return Misfit(None, "", otherwise) if inner(value) is None else None

        return check_not


def _make_properties_check(
    rules: Mapping[str, Rule], required: list[str], least: int, rule_of: FindRule | None
) -> Check:
    """The check of an object's properties; `rule_of` finds the rules of those that are not in `rules`."""
    needed = frozenset(required)

    def check_properties(value: Any) -> Misfit | None:
        if value.__class__ is not dict:
            return None
        if len(value) < least:
            return Misfit(None, "", "is empty")
        if not needed <= value.keys():
            return Misfit(None, "", f"has no {next(name for name in required if name not in value)}")
        for name, each in value.items():
            rule = rules.get(name)
            if rule is None:
                rule = _UNNAMED if rule_of is None else rule_of(name)
            if each.__class__ not in rule[0]:
                misfit = rule[1](each)
                if misfit is not None:
                    return misfit.add_step(name)
        return None

    return check_properties


def _make_given_properties_check(rules: Mapping[str, Rule]) -> Check:
    """The check of some properties, and of nothing else: mostly of a condition."""
    few = tuple((name, types, check_given_properties) for name, (types, check_given_properties) in rules.items())

    def check_given_properties(value: Any) -> Misfit | None:
        if value.__class__ is dict:
            for name, types, check_given_properties in few:
                if name in value and value[name].__class__ not in types:
                    misfit = check_given_properties(value[name])
                    if misfit is not None:
                        return misfit.add_step(name)
        return None

    return check_given_properties


def _make_rule_finder(check_name: Check, patterns: list[tuple[re.Pattern[str], Rule]], others: Rule | None) -> FindRule:
    """The function that finds the rule of a property that the schema does not name."""

    def find_rule_of_property(name: str) -> Rule:
        misfit = check_name(name)
        if misfit is not None:
            return _NONE, lambda _value: Misfit(None, "", "is a key that the schema does not allow")
        return next((rule for pattern, rule in patterns if pattern.search(name)), others or _UNNAMED)

    return find_rule_of_property


def _check_nesting_depth(value: Any) -> Misfit | None:
    return None if has_at_most_levels(value) else Misfit(None, "", "has too many levels")


# Of properties that a schema does not describe.
_UNNAMED: Final[Rule] = (_ALL - {dict, list}, _check_nesting_depth)


def _accept_any_value(_value: Any) -> None:
    """The check of a schema that every value fits."""


def _make_all_of_check(checks: tuple[Check, ...]) -> Check:
    def check_all_of(value: Any) -> Misfit | None:
        for each in checks:
            misfit = each(value)
            if misfit is not None:
                return misfit
        return None

    return check_all_of


def _python_types_of_names(names: str | list[str]) -> tuple[type, ...]:
    return tuple(kind for name in ([names] if isinstance(names, str) else names) for kind in _TYPES[name])


def _make_enum_check(values: list[Any]) -> Check:
    """The check of `enum` and `const`; true is not 1 here, as in JSON."""
    allowed = frozenset((value.__class__, value) for value in values)
    types = frozenset(value.__class__ for value in values)
    wanted = f"{'one of ' if len(values) > 1 else ''}{' '.join(quote_json(value) for value in values)}"

    def check_enum(value: Any) -> Misfit | None:
        if value.__class__ in types and (value.__class__, value) in allowed:
            return None
        return Misfit(value, wanted)

    return check_enum


def _make_scalar_check(schema: Schema) -> Check:
    """The check of the type, and of the numbers and texts among the values."""
    names = schema.get("type", list(_TYPES))
    names = [names] if isinstance(names, str) else names
    types = frozenset(_python_types_of_names(names))
    wanted = " or ".join(_WORDS[name] for name in names)
    at_least, at_most = schema.get("minimum", float("-inf")), schema.get("maximum", float("inf"))
    edges = _describe_range(at_least, at_most)
    check_text = _make_text_check(schema) if schema.keys() & _OF_TEXT else _accept_any_value

    def check_scalar(value: Any) -> Misfit | None:
        kind = value.__class__
        if kind not in types:
            return Misfit(value, wanted)
        if kind is str:
            return check_text(value)
        if (kind is int or kind is float) and not at_least <= value <= at_most:
            return Misfit(value, edges)
        return None

    return check_scalar


def _describe_range(low: float, high: float) -> str:
    if high == float("inf"):
        return f"{low:,} or more"
    return f"{low:,} to {high:,}" if low > float("-inf") else f"{high:,} or less"


def _compile_pattern(text: str) -> re.Pattern[str]:
    """A pattern of a schema, whose `$` is the end of the text, and not the place before a last newline as well."""
    return re.compile(text[:-1] + r"\Z" if text.endswith("$") else text, re.ASCII)


def _make_text_check(schema: Schema) -> Check:
    """The check of a text."""
    search = _compile_pattern(schema["pattern"]).search if "pattern" in schema else None
    least = schema.get("minLength", 0)
    form = schema.get("description") or f"of the form {schema.get('pattern')}"
    is_base64 = schema.get("contentEncoding") == "base64"

    def check_text(value: Any) -> Misfit | None:
        if len(value) < least:
            return Misfit(None, "", "is empty")
        if search is not None and search(value) is None:
            return Misfit(value, form)
        if is_base64:
            try:
                a2b_base64(value, strict_mode=True)
            except (NotBase64, ValueError):
                return Misfit(value, "base64")
        return None

    return check_text
