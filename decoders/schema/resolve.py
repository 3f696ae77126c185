"""Declaration and version in, plan out: which fields are there, in what form, with what default."""

from __future__ import annotations

from typing import Final

from decoders.errors import UnsupportedVersion
from decoders.schema.model import FIXED, Field, Message, Plan, PlanField
from decoders.wire.primitives import uuid_bytes

# What stands for "every field of the struct at its default".
STRUCT_DEFAULT: Final = "struct"


def resolve(message: Message, version: int) -> Plan:
    """The plan of one version; the same object each time. Raises UnsupportedVersion."""
    plan = message.plans.get(version)
    if plan is None:
        if version not in message.versions:
            raise UnsupportedVersion(f"{message.name} has versions {message.versions}, not {version}")
        plan = _plan(message.name, message.fields, version, version in message.flexible)
        message.plans[version] = plan
    return plan


def _plan(name: str, fields: tuple[Field, ...], version: int, flexible: bool) -> Plan:
    plain: list[PlanField] = []
    tagged: list[PlanField] = []
    for field in fields:
        if version in field.versions:
            (tagged if field.tag is not None and version in field.tagged else plain).append(
                _field(name, field, version, flexible)
            )
    tagged.sort(key=lambda field: field.tag or 0)
    names = {field.name for field in (*plain, *tagged)}
    absent = {field.name: field for field in fields if field.name not in names}
    return Plan(name, version, flexible, tuple(plain), tuple(tagged), absent)


def _field(owner: str, field: Field, version: int, flexible: bool) -> PlanField:
    nullable = version in field.nullable
    plan = None
    if field.kind == "struct":
        plan = _plan(field.struct or f"{owner}.{field.name}", field.fields, version, flexible)
    return PlanField(
        field.name,
        field.kind,
        field.array,
        nullable,
        flexible and field.flexible,
        field.tag if field.tag is not None and version in field.tagged else None,
        default_value(field, nullable=nullable),
        field.ignorable,
        field.secret,
        field.entity,
        plan,
        field.unless,
    )


def default_value(field: Field, *, nullable: bool) -> object:
    """A field's default in its final form (see PlanField); `nullable` is for the version meant."""
    value = field.default
    if field.has_default and value is None and nullable:
        return None
    if field.array:
        return ()
    if field.kind == "struct":
        return STRUCT_DEFAULT
    if field.kind == "records":
        return None if nullable else b""
    if field.kind == "bytes":
        return b""
    if field.kind == "string":
        return "" if value is None else str(value)
    if field.kind == "uuid":
        return bytes(16) if value is None else uuid_bytes(value)
    if field.kind == "bool":
        return value in (True, "true")
    if field.kind == "float64":
        return 0.0 if value is None else float(value)
    if isinstance(value, str):
        return int(value, 0)
    return 0 if value is None else int(value)


def is_default(field: Field, value: object) -> bool:
    """Whether a value equals the default of a field that a version lacks, so that leaving it out loses nothing."""
    if value is None:
        return field.kind == "records" or (field.has_default and field.default is None)
    if field.array:
        return isinstance(value, list | tuple) and not value and not (field.has_default and field.default is None)
    if field.kind == "struct":
        inner = {child.name: child for child in field.fields}
        return isinstance(value, dict) and all(name in inner and is_default(inner[name], value[name]) for name in value)
    default = default_value(field, nullable=False)
    if field.kind == "uuid":
        try:
            return uuid_bytes(value) == default
        except ValueError:
            return False
    if field.kind in {"string", "bytes"} and field.has_default and field.default is None:
        return False
    return bool(value == default)


def least_size(field: PlanField) -> int:
    """Bytes that one plain value of this field takes at least on the wire."""
    if field.array:
        return 1 if field.compact else 4
    if field.plan is not None:
        return 1 if field.nullable else least_struct(field.plan)
    return least_element(field)


def least_element(field: PlanField) -> int:
    """Bytes that one element of an array field takes at least; never 0, so that a count is always bounded."""
    if field.plan is not None:
        return max(1, least_struct(field.plan))
    fixed = FIXED.get(field.kind)
    if fixed is not None:
        return fixed
    if field.compact or field.kind not in {"string", "bytes", "records"}:
        return 1
    return 2 if field.kind == "string" else 4


def least_struct(plan: Plan) -> int:
    """Bytes that a struct takes at least."""
    return sum(least_size(field) for field in plan.fields) + (1 if plan.flexible else 0)
