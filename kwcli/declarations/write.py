"""Releases and our own declarations in; the declaration of every API over all of them out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from decoders.schema.model import Api, Field, Message, Side
from kwcli.declarations.definitions import Release
from kwcli.declarations.merge import Source, early_layouts, merge

_DECLARED = "ours"


def united(ours: dict[int, Api], releases: Sequence[Release], newest: tuple[int, ...]) -> Iterator[Api]:
    """Every API that our declarations or a release knows.

    A release speaks for all versions that it has and no newer one does. Our own declarations speak for the rest; they
    go before releases older than `newest`, the one they were last written from.
    """
    ordered = sorted(releases, key=lambda one: one.version, reverse=True)
    for key in sorted(set(ours).union(*(release.apis for release in ordered))):
        views: list[tuple[str, Api]] = [(one.minor, one.apis[key]) for one in ordered if key in one.apis]
        if key in ours:
            place = sum(1 for one in ordered if key in one.apis and one.version[:2] >= newest[:2])
            views.insert(place, (_DECLARED, ours[key]))
        yield _unite(views, ours.get(key))


def _unite(views: Sequence[tuple[str, Api]], mine: Api | None) -> Api:
    newest = next(api for _, api in views if api.versions)
    sides: dict[Side, Message] = {}
    early: dict[tuple[Side, int, str], Message] = dict(mine.early) if mine else {}
    for side in ("request", "response"):
        sources = [Source(label, getattr(api, side)) for label, api in views]
        result = merge([source for source in sources if source.message.versions])
        sides[side] = _marked(result, getattr(mine, side)) if mine else result
        for (version, label), message in early_layouts(result, sources).items():
            if label != _DECLARED:
                early[side, version, label] = message
    request = sides["request"]
    was = [api.name for _, api in views if api.name != newest.name]
    was += mine.was if mine else ()
    return Api(
        newest.key,
        newest.name,
        request.versions,
        request.flexible,
        request,
        sides["response"],
        newest.listeners,
        tuple(dict.fromkeys(was)),
        dict(sorted(early.items())),
    )


def _marked(message: Message, mine: Message) -> Message:
    return Message(message.name, message.versions, message.flexible, _mark(message.fields, mine.fields))


def _mark(fields: Sequence[Field], mine: Sequence[Field]) -> tuple[Field, ...]:
    """What no definition file says is carried over: secrets, `since`, older names that these releases do not show."""
    exact = {field.name: field for field in reversed(mine)}
    older = {name: field for field in reversed(mine) for name in field.was}
    marked = []
    for field in fields:
        old = next((exact[name] for name in (field.name, *field.was) if name in exact), older.get(field.name))
        if old is not None:
            names = (name for name in (*field.was, old.name, *old.was) if name != field.name)
            field = field._replace(
                secret=old.secret,
                unless=old.unless,
                since=old.since,
                was=tuple(dict.fromkeys(names)),
                fields=_mark(field.fields, old.fields),
            )
        marked.append(field)
    return tuple(marked)
