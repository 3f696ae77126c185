"""The text of a `.proto` file in, its declarations out: Protobuf 2, 3, editions; no services, few options."""

from __future__ import annotations

import re
from typing import Final, NoReturn

from decoders.errors import LimitExceeded, Malformed
from decoders.limits import SCHEMA_NESTING_MAX, SCHEMA_SIZE_MAX
from decoders.values.protobuf.protobuf_schema import DeclaredEnum, DeclaredField, DeclaredFile, DeclaredMessage

_TOKEN: Final = re.compile(
    r"""\s+|//[^\n]*|/\*.*?\*/"""
    r"""|(?P<token>\.?[A-Za-z_][\w.]*|[0-9][\w.+]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[^\s\w"'])""",
    re.DOTALL,
)
_LABELS: Final = ("optional", "required", "repeated")
# An option that printers of descriptors write where the source had a map.
_MAP_ENTRY: Final = ["map_entry", "=", "true"]
# Characters of a number of 64 bits, as octal.
_NUMBER_SIZE_MAX: Final = 24
_CLOSES: Final = {"{": "}", "[": "]", "<": ">", "(": ")"}


def parse_proto_text(text: str) -> DeclaredFile:
    """What a file declares. Raises DecodeError with the character at which it cannot be read."""
    if len(text) > SCHEMA_SIZE_MAX:
        raise LimitExceeded(f"a schema of more than {SCHEMA_SIZE_MAX} characters")
    return _ProtoParser(text).parse_file()


class _ProtoParser:
    """Goes through the tokens once; `at` is the number of the next one."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        self.places: list[int] = []
        at = 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise Malformed("no .proto text", offset=at)
            if token := found["token"]:
                self.tokens.append(token)
                self.places.append(at)
            at = found.end()
        self.at = 0
        self.presence = True  # whether a field without label has presence: in editions

    def parse_file(self) -> DeclaredFile:
        file = DeclaredFile()
        syntax = "proto2"
        while self.at < len(self.tokens):
            word = self.next_token()
            if word in ("syntax", "edition"):
                self.expect("=")
                syntax = self.next_token().strip("\"'")
                self.presence = syntax != "proto3"
                self.expect(";")
            elif word == "package":
                file.package = self.next_token()
                self.expect(";")
            elif word == "import":
                path = self.next_token()
                if path in ("public", "weak", "option"):
                    path = self.next_token()
                file.imports.append(path[1:-1])
                self.expect(";")
            elif word == "service":
                self.next_token()
                self.expect("{")
                self.skip_to("}")
            else:
                self.parse_message_enum_or_extension(word, file.body, 0)
        file.body.replace_entries_by_maps()
        return file

    def parse_message_enum_or_extension(self, word: str, body: DeclaredMessage, depth: int) -> None:
        """What messages and files have in common."""
        if depth > SCHEMA_NESTING_MAX:
            raise LimitExceeded(f"messages in more than {SCHEMA_NESTING_MAX} levels")
        if word == ";":
            return
        if word in ("option", "reserved", "extensions"):
            self.skip_to(";")
        elif word in ("message", "enum") and self.peek(1) == "{":
            name = self.next_token()
            self.expect("{")
            if word == "enum":
                body.enums.append(self.parse_enum(name))
            else:
                body.messages.append(self.parse_message(name, depth))
        elif word == "extend":
            extendee = self.next_token()
            self.expect("{")
            extensions = DeclaredMessage(body.name)
            extensions.messages = body.messages  # groups are declared beside the extension
            while (inner := self.next_token()) != "}":
                if inner != ";":
                    self.parse_field(inner, extensions, depth)
            for each in extensions.fields:
                each.extendee, each.has_presence = extendee, True
            body.extensions += extensions.fields
        else:
            self.fail(f"{word!r} is not expected")

    def parse_message(self, name: str, depth: int) -> DeclaredMessage:
        found = DeclaredMessage(name)
        while (word := self.next_token()) != "}":
            following = self.peek(0)
            if word == "option" and self.tokens[self.at : self.at + 3] == _MAP_ENTRY:
                found.is_map_entry = True
            if word == "oneof" and self.peek(1) == "{":
                self.next_token()
                self.expect("{")
                self.parse_oneof(following, found, depth)
            elif word in (";", "option", "reserved", "extensions", "extend") or (
                word in ("message", "enum") and self.peek(1) == "{"
            ):
                self.parse_message_enum_or_extension(word, found, depth + 1)
            else:
                self.parse_field(word, found, depth)
        found.replace_entries_by_maps()
        return found

    def parse_oneof(self, name: str, body: DeclaredMessage, depth: int) -> None:
        while (word := self.next_token()) != "}":
            if word == "option":
                self.skip_to(";")
            elif word != ";":
                self.parse_field(word, body, depth)
                body.fields[-1].oneof, body.fields[-1].has_presence = name, True

    def parse_field(self, word: str, body: DeclaredMessage, depth: int) -> None:
        label = ""
        if word in _LABELS:
            label, word = word, self.next_token()
        key_type = ""
        if word == "map" and self.peek(0) == "<":
            self.expect("<")
            key_type = self.next_token()
            self.expect(",")
            word = self.next_token()
            self.expect(">")
            body.messages.append(DeclaredMessage("", is_map_entry=True))
        is_group = word == "group"
        name = self.next_token()
        self.expect("=")
        number = self.parse_number()
        if self.peek(0) == "[":
            self.next_token()
            self.skip_to("]")
        field = DeclaredField(name, number, word, label, is_group=is_group, key_type=key_type)
        field.has_presence = label == "optional" or label == "required" or self.presence
        if is_group:
            field.type_name, field.name = name, name.lower()
            self.expect("{")
            if depth > SCHEMA_NESTING_MAX:
                raise LimitExceeded(f"messages in more than {SCHEMA_NESTING_MAX} levels")
            body.messages.append(self.parse_message(name, depth + 1))
        else:
            self.expect(";")
        body.fields.append(field)

    def parse_enum(self, name: str) -> DeclaredEnum:
        found = DeclaredEnum(name)
        while (word := self.next_token()) != "}":
            if word in ("option", "reserved") and self.peek(0) != "=":
                self.skip_to(";")
            elif word != ";":
                self.expect("=")
                found.values.setdefault(self.parse_number(), word)  # of aliases the first one is the name
                self.skip_to(";")
        return found

    def parse_number(self) -> int:
        token = self.next_token()
        sign = -1 if token == "-" else 1
        if sign < 0:
            token = self.next_token()
        if len(token) > _NUMBER_SIZE_MAX:
            self.fail(f"{token[:20]!r}… is no number")
        try:
            return sign * int(token, 8 if token[0] == "0" and token.isdecimal() else 0)
        except ValueError:
            self.fail(f"{token[:20]!r} is no number")

    def next_token(self) -> str:
        if self.at >= len(self.tokens):
            self.fail("the file ends too early")
        self.at += 1
        return self.tokens[self.at - 1]

    def peek(self, ahead: int) -> str:
        at = self.at + ahead
        return self.tokens[at] if at < len(self.tokens) else ""

    def expect(self, token: str) -> None:
        if self.next_token() != token:
            self.fail(f"{token!r} is expected")

    def skip_to(self, last: str) -> None:
        """Step over all up to a token outside of brackets."""
        open_until = [last]
        while open_until:
            token = self.next_token()
            if token == open_until[-1]:
                open_until.pop()
            elif token in _CLOSES and token != "<":
                open_until.append(_CLOSES[token])

    def fail(self, text: str) -> NoReturn:
        place = self.places[min(self.at, len(self.places)) - 1] if self.places else 0
        raise Malformed(text, offset=place)
