"""A query in Spark SQL in, a Failure for a sure error in it out, before Spark is started, which takes long.

The problem. Only Spark can say whether a query is right, and starting it takes seconds. Most wrong queries have a name
in them that nothing has, a quote or a parenthesis that is open, or a misspelt word of SQL.

The idea. Look at the query's words alone. A name is unknown where no table or view that the query mentions has such a
column, and nothing in the query may define it: an alias, a word behind another one, a column list, a parameter. What a
query may mean otherwise is left to Spark: a query with anything unusual in it (`values`, `pivot`, `|>`, functions that
make columns) is not looked at closely. Scopes are not distinguished.

What always holds: a query that Spark takes is never refused (tests ask Spark). What is given up: many errors are
reported by Spark only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from decoders.named_tuple import NamedTuple
from kwcli.pipeline.spark_keywords import KEYWORDS
from kwcli.run_environment import Exit, Failure
from kwcli.spelling import did_you_mean, nearest_words

# What a statement that reads may begin with; others are refused once Spark has parsed them.
_BEGINNINGS: Final = (
    "select",
    "with",
    "from",
    "values",
    "table",
    "map",
    "reduce",
    "describe",
    "desc",
    "show",
    "explain",
)
# The keywords between the parts of a query: suggestions for a misspelt one.
_CLAUSES: Final = (
    "from",
    "where",
    "group by",
    "order by",
    "having",
    "limit",
    "join",
    "union",
    "lateral view",
    "on",
    "as",
)
_BEHIND_SOURCES: Final = frozenset(
    {"where", "group", "order", "having", "limit", "union", "join", "left", "inner", "on"}
)
# Words, signs and functions that define names of their own, or read names in another way.
_UNUSUAL: Final = frozenset(
    {
        *("values", "pivot", "unpivot", "transform", "map", "reduce", "identifier", "insert", "table", "recursive"),
        *("inline", "inline_outer", "stack", "json_tuple", "from_csv", "variant_explode", "variant_explode_outer"),
        *("json_table", "unnest", "begin", "declare", "execute", "measure", "match_condition"),
        *(":", "|>", "?", "=>", "@"),
    }
)
# Names that Spark defines itself: columns, columns made by generators, functions without parentheses.
_GIVEN: Final = frozenset(
    {
        *("date", "_metadata", "col", "pos", "key", "value", "file_path", "file_name", "file_size"),
        *(
            "current_date",
            "current_timestamp",
            "current_user",
            "current_time",
            "localtimestamp",
            "user",
            "session_user",
        ),
        *("current_catalog", "current_database", "current_schema", "current_timezone", "now"),
    }
)
_TOKEN: Final = re.compile(
    r"""(?P<blank>\s+|--(?:\\\n|[^\n])*)
      | (?P<comment>/\*)
      | (?P<raw>[rR](?:'[^']*'|"[^"]*"))
      | (?P<text>[xX]?'(?:\\.|[^'\\])*'|[xX]?"(?:\\.|[^"\\])*")
      | (?P<quoted>`(?:[^`]|``)*`)
      | (?P<open>['"`])
      | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?:[lLsSyYdDfF]|[bB][dD])?(?!\w))
      | (?P<name>\w+)
      | (?P<sign>\|\||\|>|->|=>|<=>|<=|>=|<>|!=|==|::|.)""",
    re.VERBOSE | re.DOTALL,
)


class QueryToken(NamedTuple):
    """A token of a query: `kind` is name, quoted, text, number or sign; `word` is its text in small letters."""

    kind: str
    text: str
    word: str
    at: int


class Query:
    """A query and its tokens. `columns` are the names of the columns of each table and view that a folder has."""

    def __init__(self, text: str, columns: Mapping[str, Sequence[str]]) -> None:
        self.text = text
        self.columns = {name: frozenset(its) for name, its in columns.items()}
        self.tokens = list(self._read_tokens())

    def failure_at(self, at: int, text: str) -> Failure:
        """The Failure for an error at character `at` of the query; the line and column in it count from 1."""
        before = self.text[:at]
        place = f"line {before.count(chr(10)) + 1}, column {len(before) - before.rfind(chr(10))} of the query: "
        return Failure(f"{place}{text}", Exit.USAGE)

    def _read_tokens(self) -> Iterator[QueryToken]:
        at = 0
        while at < len(self.text):
            match = _TOKEN.match(self.text, at)
            assert match is not None  # any other character is a sign
            kind, text = str(match.lastgroup), match[0]
            if kind == "open":
                raise self.failure_at(at, f"the quote {text} is not closed")
            if kind == "comment":
                at = self._find_comment_end(at)
                continue
            if kind == "quoted":
                yield QueryToken(kind, text, text[1:-1].replace("``", "`").lower(), at)
            elif kind != "blank":
                yield QueryToken("text" if kind == "raw" else kind, text, text.lower(), at)
            at = match.end()

    def _find_comment_end(self, begun: int) -> int:
        """Where a comment ends, with the comments inside of it."""
        depth, at = 0, begun
        for match in re.compile(r"/\*|\*/").finditer(self.text, begun):
            depth += 1 if match[0] == "/*" else -1
            at = match.end()
            if not depth:
                return at
        raise self.failure_at(begun, "the comment /* is not closed")


def check_query(text: str, columns: Mapping[str, Sequence[str]], lacking: Mapping[str, str]) -> None:
    """Failure (usage) where something is surely wrong: which name, where, and what may have been meant.

    `columns` are the columns of the tables and views that the folder has; `lacking` has a message for each table and
    view that kw knows and the folder does not have.
    """
    if "$" in text:  # text between dollars may hold anything
        return
    query = Query(text, columns)
    _check_signs(query)
    if not query.tokens:
        raise Failure("the query is empty: write select … from exchanges, or see --views", Exit.USAGE)
    words = {token.word for token in query.tokens if token.kind in ("name", "sign")}
    first = query.tokens[0]
    if first.kind == "name" and first.word not in KEYWORDS:
        raise query.failure_at(first.at, f"no query begins with {first.text}{did_you_mean(first.word, _BEGINNINGS)}")
    if words & _UNUSUAL or first.word not in ("select", "with", "from", "(", "explain"):
        return
    sources = _find_sources(query)
    if sources is None:
        return
    _check_tables(query, sources, lacking)
    _check_names_in_a_row(query)
    _check_columns(query, sources)


def _check_signs(query: Query) -> None:
    """Failure for parentheses that do not match, and for commas with nothing on a side."""
    open_at: list[int] = []
    before = None
    for at, token in enumerate(query.tokens):
        sign = token.text if token.kind == "sign" else ""
        if sign == "(":
            open_at.append(token.at)
        elif sign == ")":
            if not open_at:
                raise query.failure_at(token.at, "this ) closes nothing")
            open_at.pop()
        if before == "," and sign in (",", ")"):
            raise query.failure_at(token.at, f"nothing stands between , and {sign}")
        then = query.tokens[at + 1].word if at + 1 < len(query.tokens) else ""
        if before == "," and token.word == "from" and then in query.columns:
            raise query.failure_at(token.at, "nothing stands between , and from")
        before = sign
    if before == ",":
        raise query.failure_at(query.tokens[-1].at, "nothing comes behind the last comma")
    if open_at:
        raise query.failure_at(open_at[-1], "this ( is not closed")


class QuerySource(NamedTuple):
    """A name behind `from` or `join`: its token, its alias (empty: none)."""

    table: QueryToken
    alias: str


def _find_sources(query: Query) -> list[QuerySource] | None:
    """The tables and views that the query reads; None where a source cannot be followed."""
    found: list[QuerySource] = []
    tokens = query.tokens
    selects = [False]  # at each level of parentheses: whether a query is in them
    for at, token in enumerate(tokens):
        if token.kind == "sign":
            if token.text == "(":
                selects.append(False)
            elif token.text == ")":
                selects.pop()
            continue
        before = tokens[at - 1].word if at else ""
        if token.word == "select" or (token.word == "from" and before in ("", "(", ")")):
            selects[-1] = True
        clause = token.word == "join" or (
            token.word == "from" and selects[-1] and before not in ("distinct", "as", ".")
        )
        if token.kind != "name" or not clause:
            continue
        while True:
            source, at = _read_source(tokens, at + 1)
            if source is None:
                return None
            if source.table.text != "(":
                found.append(source)
            if at >= len(tokens) or tokens[at].text != "," or token.word == "join":
                break
    return found


def _read_source(tokens: list[QueryToken], at: int) -> tuple[QuerySource | None, int]:
    """The source at a place (None where it cannot be followed), and the place behind it."""
    if at >= len(tokens):
        return None, at
    table = tokens[at]
    if table.text == "(":
        depth = 0
        while at < len(tokens):
            depth += {"(": 1, ")": -1}.get(tokens[at].text, 0) if tokens[at].kind == "sign" else 0
            at += 1
            if not depth:
                break
    elif table.word == "lateral":
        return _read_source(tokens, at + 1)
    elif table.kind not in ("name", "quoted") or (table.word in KEYWORDS and not _ends_source(tokens, at + 1)):
        return None, at
    else:
        at += 1
        if at < len(tokens) and tokens[at].text in (".", "("):
            return None, at  # of another catalog, or a function
    if at < len(tokens) and tokens[at].word == "as":
        at += 1
    alias = ""
    if at < len(tokens) and _is_name(tokens[at]):
        alias = tokens[at].word
        at += 1
    if at < len(tokens) and tokens[at].text == "(":
        return None, at  # names for the columns
    return QuerySource(table, alias), at


def _ends_source(tokens: list[QueryToken], at: int) -> bool:
    """Whether the keyword before this place is the name of a table: the source ends here."""
    return at >= len(tokens) or tokens[at].text in (")", ",", ";") or tokens[at].word in _BEHIND_SOURCES


def _is_name(token: QueryToken) -> bool:
    return token.kind == "quoted" or (token.kind == "name" and token.word not in KEYWORDS)


def _check_tables(query: Query, sources: list[QuerySource], lacking: Mapping[str, str]) -> None:
    tokens = query.tokens
    # Queries that have a name: `with NAME as (`, `, NAME (a, b) as (`.
    named = {
        token.word
        for before, token, then in zip(tokens, tokens[1:], tokens[2:], strict=False)
        if before.word in ("with", ",") and then.word in ("as", "(")
    }
    for table, _ in sources:
        if table.word in query.columns or table.word in named:
            continue
        if table.word in lacking:
            raise query.failure_at(table.at, lacking[table.word])
        hint = did_you_mean(table.word, query.columns)
        raise query.failure_at(table.at, f"there is no table or view {table.text}{hint}; --views lists them")


def _check_names_in_a_row(query: Query) -> None:
    """Failure for three names in a row: the second cannot be an alias, it was meant for a word of SQL."""
    tokens = query.tokens
    for one, other, third in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if _is_name(one) and _is_name(other) and _is_name(third):
            meant = nearest_words(other.word, _CLAUSES)
            hint = f' (did you mean "{meant[0]}"?)' if meant else ""
            raise query.failure_at(other.at, f"syntax error at {other.text}{hint}")


def _check_columns(query: Query, sources: list[QuerySource]) -> None:
    tables = [(table.word, alias) for table, alias in sources]
    its = {alias or name: query.columns[name] for name, alias in tables if name in query.columns}
    known = frozenset().union(*its.values()) | _GIVEN if its else _GIVEN
    defined = _names_defined(query) | set(its) | {name for name, _ in tables}
    tokens = query.tokens
    for at, token in enumerate(tokens):
        if not _is_name(token) or not re.fullmatch(r"[^\W\d]\w*", token.word):
            continue
        before = tokens[at - 1] if at else None
        after = tokens[at + 1] if at + 1 < len(tokens) else None
        if after is not None and (after.text in ("(", "->", ".") or after.kind == "text"):
            continue  # a function, a parameter, the owner of a column, the type of a literal
        if before is not None and before.text == ".":
            owner = tokens[at - 2].word if at > 1 else ""
            of = its.get(owner) if at < 3 or tokens[at - 3].text != "." else None
            if of is None or token.word in of or owner in _ambiguous_names(tables, query) or token.word in _GIVEN:
                continue
            raise query.failure_at(token.at, _explain_unknown_column(token.text, of, owner))
        if before is not None and (before.text in ("::", "collate") or (at > 1 and tokens[at - 2].word == "extract")):
            continue
        if token.word in known or token.word in defined:
            continue
        raise query.failure_at(
            token.at,
            _explain_unknown_column(token.text, known - _GIVEN, ", ".join(dict.fromkeys(n for n, _ in tables))),
        )


def _ambiguous_names(tables: list[tuple[str, str]], query: Query) -> set[str]:
    """Names that stand for several sources, or for a query as well."""
    names = [alias or name for name, alias in tables]
    return {name for name in names if names.count(name) > 1} | (set(names) & _aliases_of_queries(query))


def _aliases_of_queries(query: Query) -> set[str]:
    """Names behind a closing parenthesis, and names of queries (`with NAME as`)."""
    tokens = query.tokens
    found = set()
    for one, other, third in zip(tokens, tokens[1:], [*tokens[2:], None], strict=False):
        if one.text == ")":
            found.add(third.word if other.word == "as" and third is not None else other.word)
        if other.word == "as" and third is not None and third.text == "(":
            found.add(one.word)
    return found


def _explain_unknown_column(name: str, known: frozenset[str], where: str) -> str:
    alike = [other for other in sorted(known) if other[:3] == name.lower()[:3]]
    hint = did_you_mean(name, sorted(known)) or (f' (did you mean "{alike[0]}"?)' if alike else "")
    listed = "" if hint else f"; there are {', '.join(sorted(known)[:12])}{', …' if len(known) > 12 else ''}"
    return f"there is no column {name}{f' in {where}' if where else ''}{hint}{listed}"


def _names_defined(query: Query) -> set[str]:
    """All names that the query itself may define, such as aliases and parameters."""
    tokens = query.tokens
    found = {token.text[1:-1].lower() for token in tokens if token.kind == "text"}  # a text's column has its name
    for at, token in enumerate(tokens):
        before = tokens[at - 1] if at else None
        after = tokens[at + 1] if at + 1 < len(tokens) else None
        if token.kind in ("name", "quoted") and before is not None and _may_end_expression(before):
            found.add(token.word)
        if token.word == "as" and after is not None:
            found |= _names_in_list(tokens, at + 1) if after.text == "(" else {after.word}
        if token.word == "view" and before is not None and before.word == "lateral":
            found |= _names_of_view(tokens, at + 1)
        if token.text == ")" and after is not None and after.word == "as":
            found |= _names_of_parameters(tokens, at)
        if token.text == "->":
            found |= _names_of_parameters(tokens, at - 1)
        if after is not None and after.word == "as" and at + 2 < len(tokens) and tokens[at + 2].text == "(":
            found.add(token.word)
    return found


def _may_end_expression(token: QueryToken) -> bool:
    """Whether an expression, or a table, may end here, so that a name behind it is an alias."""
    if token.kind in ("quoted", "text", "number") or token.text in (")", "]", "end", "as"):
        return True
    return token.kind == "name" and (token.word not in KEYWORDS or token.word in _NAMES_TOO)


# Words of SQL that are columns here, or end an expression: an alias may stand behind them.
_NAMES_TOO: Final = KEYWORDS - {
    *("select", "from", "where", "group", "order", "by", "having", "limit", "on", "using", "and", "or", "not", "in"),
    *("like", "ilike", "between", "case", "when", "then", "else", "distinct", "all", "union", "except", "intersect"),
    *("join", "left", "right", "full", "inner", "outer", "cross", "is", "exists", "any", "some", "div", "escape"),
}


def _names_in_list(tokens: list[QueryToken], at: int) -> set[str]:
    """The names of a column list `(a, b)`, from its opening parenthesis on."""
    found = set()
    while at < len(tokens) and tokens[at].text != ")":
        found.add(tokens[at].word)
        at += 1
    return found


def _names_of_view(tokens: list[QueryToken], at: int) -> set[str]:
    """The names in `explode(x) t as a, b` behind `lateral view`: t, a and b, up to the next keyword of the query."""
    found, depth = set(), 0
    for token in tokens[at:]:
        depth += {"(": 1, ")": -1}.get(token.text, 0) if token.kind == "sign" else 0
        if depth < 0 or (not depth and token.word in _BEHIND_SOURCES | {"lateral", "select", "from"}):
            break
        if not depth and token.kind in ("name", "quoted"):
            found.add(token.word)
    return found


def _names_of_parameters(tokens: list[QueryToken], at: int) -> set[str]:
    """The names of a list of parameters, `x` or `(x, y)`, that ends at a place."""
    if at < 0:
        return set()
    if tokens[at].text != ")":
        return {tokens[at].word}
    found = set()
    while at >= 0 and tokens[at].text != "(":
        found.add(tokens[at].word)
        at -= 1
    return found
