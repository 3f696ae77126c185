"""The text of a JSON Schema in; its name, and the first part of a value that does not fit it, out.

It knows the words that registries' schemas use (drafts 4 to 2020-12) and leaves out those that it does not know, as the
specification says. A `$ref` is followed inside the schema and to the schemas that it refers to, never elsewhere.
Patterns run in RE2, whose time is linear; one that RE2 cannot read is left out. The whole check has a bounded number of
steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

from decoders.errors import LimitExceeded, Malformed
from decoders.limits import SCHEMA_SIZE_MAX, VALUE_NESTING_MAX
from decoders.schema.body_json_form import has_at_most_levels

_STEPS_MAX: Final = 3 * 10**4
_PATTERNS_MAX: Final = 1000
_TYPES: Final[dict[str, Callable[[Any], bool]]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: type(value) is int or (isinstance(value, float) and value.is_integer()),
}
_BOUNDS: Final[dict[str, tuple[str, Callable[[Any, Any], bool]]]] = {
    "minimum": ("number", lambda value, bound: value >= bound),
    "maximum": ("number", lambda value, bound: value <= bound),
    "exclusiveMinimum": ("number", lambda value, bound: isinstance(bound, bool) or value > bound),
    "exclusiveMaximum": ("number", lambda value, bound: isinstance(bound, bool) or value < bound),
    "minLength": ("string", lambda value, bound: len(value) >= bound),
    "maxLength": ("string", lambda value, bound: len(value) <= bound),
    "minItems": ("array", lambda value, bound: len(value) >= bound),
    "maxItems": ("array", lambda value, bound: len(value) <= bound),
    "minProperties": ("object", lambda value, bound: len(value) >= bound),
    "maxProperties": ("object", lambda value, bound: len(value) <= bound),
}


class JsonSchema:
    """A JSON Schema: `name` is its title, or the last part of its id."""

    def __init__(self, text: str, references: Mapping[str, JsonSchema]) -> None:
        if len(text) > SCHEMA_SIZE_MAX:
            raise LimitExceeded(f"a schema of more than {SCHEMA_SIZE_MAX} characters")
        try:
            self.root: Any = orjson.loads(text)
        except ValueError:
            raise Malformed("no JSON") from None
        if not isinstance(self.root, dict | bool) or not has_at_most_levels(self.root, 2 * VALUE_NESTING_MAX):
            raise Malformed("no JSON Schema")
        self.references = references
        self.name = _title_of_schema(self.root)
        self.patterns: dict[str, Any] = {}

    def find_misfit(self, value: Any) -> str | None:
        """Where a value does not fit, and which word of the schema says so; the value itself is not in the text."""
        return _JsonCheck().find_misfit(self, self.root, value, "", 0)

    def pattern_occurs_in(self, pattern: str, text: str) -> bool:
        """Whether a pattern occurs in a text; True where the pattern cannot be read."""
        import re2  # type: ignore[import-untyped]  # it ships no types; and it takes 5 ms, and few schemas have a pattern

        if pattern not in self.patterns and len(self.patterns) < _PATTERNS_MAX:
            options = re2.Options()
            options.log_errors = False
            options.max_mem = 1 << 20
            try:
                self.patterns[pattern] = re2.compile(pattern, options)
            except re2.error:
                self.patterns[pattern] = None
        compiled = self.patterns.get(pattern)
        return compiled is None or compiled.search(text) is not None


def _title_of_schema(root: Any) -> str:
    if not isinstance(root, dict):
        return ""
    title, identity = root.get("title"), root.get("$id", root.get("id"))
    if isinstance(title, str) and title:
        return title
    return identity.rstrip("/#").rpartition("/")[2] if isinstance(identity, str) else ""


class _JsonCheck:
    """One check of a value; `left` is how many steps it may still take. What it cannot finish is taken to fit."""

    def __init__(self) -> None:
        self.left = _STEPS_MAX

    def find_misfit(self, home: JsonSchema, schema: Any, value: Any, path: str, depth: int) -> str | None:
        self.left -= 1
        if self.left < 0 or depth > 2 * VALUE_NESTING_MAX or schema is True:
            return None
        if schema is False:
            return f"{path or 'the value'}: nothing is allowed"
        if not isinstance(schema, dict):
            return None
        reference = schema.get("$ref")
        if isinstance(reference, str) and (target := find_referenced_schema(home, reference)) is not None:
            found = self.find_misfit(*target, value, path, depth + 1)
            if found is not None:
                return found
        for check in (self.check_scalar, self.check_object, self.check_array, self.check_combinations):
            found = check(home, schema, value, path, depth)
            if found is not None:
                return found
        return None

    def spend_budget(self, count: int) -> bool:
        """Whether so many parts of a schema, or of a value, may be looked at, which are small steps."""
        self.left -= count // 16
        return self.left >= 0

    def check_scalar(
        self, home: JsonSchema, schema: Mapping[str, Any], value: Any, path: str, _depth: int
    ) -> str | None:
        place = path or "the value"
        kinds = schema.get("type")
        names = [kinds] if isinstance(kinds, str) else _list_or_empty(schema, "type")
        names = [name for name in names[: len(_TYPES)] if isinstance(name, str)]
        if names and not any(_TYPES[name](value) for name in names if name in _TYPES):
            return f"{place}: no {' or '.join(names)[:100]}"
        allowed = schema.get("enum")
        if isinstance(allowed, list) and self.spend_budget(len(allowed)) and value not in allowed:
            return f"{place}: not one of the enum"
        if "const" in schema and value != schema["const"]:
            return f"{place}: not the const"
        for word, (kind, fits) in _BOUNDS.items():
            bound = schema.get(word)
            if isinstance(bound, int | float) and _TYPES[kind](value) and not fits(value, bound):
                return f"{place}: {word} {bound}"
        pattern = schema.get("pattern")
        if isinstance(pattern, str) and isinstance(value, str) and not home.pattern_occurs_in(pattern, value):
            return f"{place}: does not match the pattern"
        return None

    def check_object(
        self, home: JsonSchema, schema: Mapping[str, Any], value: Any, path: str, depth: int
    ) -> str | None:
        if not isinstance(value, dict):
            return None
        required, properties = schema.get("required"), schema.get("properties")
        for name in required if isinstance(required, list) and self.spend_budget(len(required)) else ():
            if isinstance(name, str) and name not in value:
                return f"{path or 'the value'}: {name} is missing"
        properties = properties if isinstance(properties, dict) else {}
        patterns = schema.get("patternProperties")
        patterns = patterns if isinstance(patterns, dict) else {}
        others = schema.get("additionalProperties", True)
        for name, inner in value.items():
            if not self.spend_budget(len(patterns)):
                return None
            schemas = [properties[name]] if name in properties else []
            schemas += [each for pattern, each in patterns.items() if home.pattern_occurs_in(pattern, name)]
            for each in schemas or [others]:
                found = self.find_misfit(home, each, inner, f"{path}.{name}" if path else name, depth + 1)
                if found is not None:
                    return found
        return None

    def check_array(self, home: JsonSchema, schema: Mapping[str, Any], value: Any, path: str, depth: int) -> str | None:
        if not isinstance(value, list):
            return None
        first, items = schema.get("prefixItems"), schema.get("items", True)
        if isinstance(items, list):  # up to draft 2019-09
            first, items = items, schema.get("additionalItems", True)
        first = first if isinstance(first, list) else []
        for at, inner in enumerate(value):
            found = self.find_misfit(home, first[at] if at < len(first) else items, inner, f"{path}[{at}]", depth + 1)
            if found is not None:
                return found
        return None

    def check_combinations(
        self, home: JsonSchema, schema: Mapping[str, Any], value: Any, path: str, depth: int
    ) -> str | None:
        def fits_schema(inner: Any) -> bool:
            return self.find_misfit(home, inner, value, path, depth + 1) is None

        place = path or "the value"
        for inner in _list_or_empty(schema, "allOf"):
            found = self.find_misfit(home, inner, value, path, depth + 1)
            if found is not None:
                return found
        if (some := _list_or_empty(schema, "anyOf")) and not any(map(fits_schema, some)):
            return f"{place}: fits none of anyOf"
        if (one := _list_or_empty(schema, "oneOf")) and sum(map(fits_schema, one)) != 1 and self.left >= 0:
            return f"{place}: fits not exactly one of oneOf"
        if "not" in schema and self.left >= 0 and fits_schema(schema["not"]) and self.left >= 0:
            return f"{place}: fits what it must not"
        if "if" in schema:
            branch = schema.get("then" if fits_schema(schema["if"]) else "else", True)
            return self.find_misfit(home, branch, value, path, depth + 1)
        return None


def _list_or_empty(schema: Mapping[str, Any], word: str) -> list[Any]:
    found = schema.get(word)
    return found if isinstance(found, list) else []


def find_referenced_schema(home: JsonSchema, reference: str) -> tuple[JsonSchema, Any] | None:
    """The schema that a `$ref` names, with its document; None where it is in neither this one nor one referred to."""
    document, _, pointer = reference.partition("#")
    if document:
        known = home.references.get(document) or home.references.get(document.rpartition("/")[2])
        if known is None:
            return None
        home = known
    target: Any = home.root
    for step in pointer.split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(target, dict) and step in target:
            target = target[step]
        elif isinstance(target, list) and step.isdecimal() and len(step) < 10 and int(step) < len(target):
            target = target[int(step)]
        else:
            return None
    return home, target
