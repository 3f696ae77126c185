"""Words of tcpdump's language in, a condition on packets out: what people type most, as in pcap-filter(7).

    tcp, udp, ip, ip6, arp, icmp, icmp6 · [tcp|udp|ip|ip6] [src|dst|src or dst|src and dst] [host|net|port|portrange] ID
    vlan [ID] · and, or, not (also &&, ||, !) · brackets, around several IDs too: `port (9092 or 9093)`

`and` and `or` bind alike, from the left. An ID alone has the words of the one before it: `port 9092 or 9093`. Behind
`vlan` all that follows is meant behind the tag. Everything else raises NotUnderstood; libpcap knows it.

The kernel takes the outer VLAN tag out of most packets, and tells it beside them; packets on their way out may have it
still. So a program with `vlan` in it is two: one for each of the two.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Network, NetmaskValueError
from typing import Final

from decoders.capture.link_types import ARP, IP4, IP6
from decoders.named_tuple import NamedTuple
from kwcli.reading.kernel_filter.bpf_program import JUMP_EQUAL, NEVER, Condition, Load, Test, all_of, any_of, negate
from kwcli.reading.kernel_filter.packet_layout import (
    BOTH,
    EITHER,
    ICMP,
    ICMP6,
    SCTP,
    SOURCE,
    TAG_PRESENT,
    TARGET,
    TCP,
    UDP,
    PacketLayout,
    condition_for_address,
    condition_for_port,
    condition_for_protocol,
    condition_for_protocol4,
    condition_for_protocol6,
    condition_for_removed_vlan_tag,
    condition_for_vlan_tag,
)

__all__ = ["KNOWN", "NotUnderstood", "parse_tcpdump_expression"]

# What messages say that kw knows itself.
KNOWN: Final = "tcp, udp, ip, ip6, arp, icmp, port, portrange, host, net, src, dst, vlan, and, or, not and brackets"
_TOKEN: Final = re.compile(r"\s*(&&|\|\||[!()]|(?:(?!&&|\|\|)[^\s()!])+)")
_SAME: Final = {"&&": "and", "||": "or", "!": "not"}
_TRANSPORTS: Final = {"tcp": (TCP,), "udp": (UDP,), "": (TCP, UDP, SCTP)}
_ALONE: Final[dict[str, Callable[[PacketLayout], Condition]]] = {
    "tcp": lambda layout: condition_for_protocol(layout, TCP),
    "udp": lambda layout: condition_for_protocol(layout, UDP),
    "icmp": lambda layout: condition_for_protocol4(layout, ICMP),
    "icmp6": lambda layout: condition_for_protocol6(layout, ICMP6),
    "ip": lambda layout: layout.condition_for_ethertype(IP4),
    "ip6": lambda layout: layout.condition_for_ethertype(IP6),
    "arp": lambda layout: layout.condition_for_ethertype(ARP),
}
_KINDS: Final = ("host", "net", "port", "portrange")
_DOTTED: Final = re.compile(r"\d{1,3}(\.\d{1,3}){0,3}")
_VLAN_MAX: Final = 4095

Resolve = Callable[[str], Sequence[IPv4Network | IPv6Network]]


class NotUnderstood(Exception):
    """What is none of these words: `text` says it, and `certain` whether libpcap would not take it either."""

    def __init__(self, text: str, *, certain: bool = False) -> None:
        super().__init__(text)
        self.text = text
        self.certain = certain


class _Words(NamedTuple):
    """The words before an ID: a protocol, a side and a kind; empty where they are not there."""

    protocol: str = ""
    side: str = ""
    kind: str = ""


def parse_tcpdump_expression(text: str, layout: PacketLayout, resolve: Resolve, *, live: bool = True) -> Condition:
    """The condition that `text` states. `resolve` gives the addresses of a host's name.

    `live` False: all tags are in the packets, as in a file. Raises NotUnderstood.
    """
    tokens = _split_into_words(text)
    in_packet = _ConditionParser(tokens, layout, resolve, removed=False).parse()
    if not live or "vlan" not in tokens or not layout.ethernet:
        return in_packet
    is_there = Test(Load(TAG_PRESENT, 1), JUMP_EQUAL, 0)
    removed = _ConditionParser(tokens, layout, resolve, removed=True).parse()
    return any_of(all_of(is_there, in_packet), all_of(negate(is_there), removed))


def _split_into_words(text: str) -> list[str]:
    return [_SAME.get(word, word) for word in _TOKEN.findall(text)]


class _ConditionParser:
    """One reading of the tokens. `removed`: the outer tag is not in the packet but told beside it."""

    def __init__(self, tokens: Sequence[str], layout: PacketLayout, resolve: Resolve, *, removed: bool) -> None:
        self._tokens = tokens
        self._at = 0
        self._layout = layout
        self._resolve = resolve
        self._removed = removed
        self._words = _Words()  # of the ID before

    def parse(self) -> Condition:
        found = self._parse_terms(self._parse_term)
        if self._at < len(self._tokens):
            raise NotUnderstood(self._take_word())
        return found

    def _parse_terms(self, operand: Callable[[], Condition]) -> Condition:
        """Operands with `and` and `or` between them, from left to right."""
        found = operand()
        while self._peek_word() in ("and", "or"):
            join = all_of if self._take_word() == "and" else any_of
            found = join(found, operand())
        return found

    def _parse_term(self) -> Condition:
        word = self._peek_word()
        if word == "not":
            self._take_word()
            return negate(self._parse_term())
        if word == "(":
            return self._parse_bracket(self._parse_term)
        if word == "vlan":
            return self._parse_vlan()
        return self._parse_primitive()

    def _parse_bracket(self, operand: Callable[[], Condition]) -> Condition:
        self._take_word()
        found = self._parse_terms(operand)
        if self._peek_word() != ")":
            raise NotUnderstood(
                "a bracket that is not closed" if not self._peek_word() else self._take_word(), certain=True
            )
        self._take_word()
        return found

    def _parse_vlan(self) -> Condition:
        self._take_word()
        number = None
        if _is_number_word(self._peek_word()):
            number = _parse_number(self._take_word())
            if number > _VLAN_MAX:
                raise NotUnderstood(f"{number} is no VLAN: they end at {_VLAN_MAX}", certain=True)
        if self._removed:
            self._removed = False
            return condition_for_removed_vlan_tag(number)
        found = condition_for_vlan_tag(self._layout, number)
        self._layout = self._layout._replace(tags=self._layout.tags + 1)
        return found

    def _parse_primitive(self) -> Condition:
        """`tcp`, or the words before an ID and the ID, or the ID alone with the words before it."""
        protocol = self._take_word() if self._peek_word() in _ALONE else ""
        side = self._parse_side()
        kind = self._take_word() if self._peek_word() in _KINDS else ""
        if protocol and not side and not kind and self._peek_word() in ("", "and", "or", ")"):
            self._words = _Words()
            return _ALONE[protocol](self._layout)
        if protocol or side or kind:
            self._words = _Words(protocol, side, kind)
        return self._parse_ids()

    def _parse_side(self) -> str:
        """`src`, `dst`, or both of them with `or` or `and` between."""
        if self._peek_word() not in (SOURCE, TARGET):
            return ""
        side = self._take_word()
        other = TARGET if side == SOURCE else SOURCE
        if self._peek_word() in ("and", "or") and self._peek_word(1) == other:
            join = self._take_word()
            self._take_word()
            return BOTH if join == "and" else EITHER
        return side

    def _parse_ids(self) -> Condition:
        """One ID, or several in brackets."""
        if self._peek_word() == "not":
            self._take_word()
            return negate(self._parse_ids())
        if self._peek_word() == "(":
            return self._parse_bracket(self._parse_ids)
        if not self._peek_word():
            raise NotUnderstood("it ends where a word should follow", certain=True)
        return self._parse_id(self._take_word())

    def _parse_id(self, word: str) -> Condition:
        words = self._words
        if words == _Words():
            raise NotUnderstood(word)
        if words.kind in ("port", "portrange"):
            return self._make_condition_for_port(word, words)
        if words.protocol not in ("", "ip", "ip6"):
            raise NotUnderstood(word)
        if words.kind == "net":
            networks: Sequence[IPv4Network | IPv6Network] = [self._parse_network(word)]
        else:
            networks = self._resolve_hosts(word)
        versions = {"ip": 4, "ip6": 6}
        wanted = [each for each in networks if each.version == versions.get(words.protocol, each.version)]
        side = words.side or EITHER
        arp = not words.protocol
        return (
            any_of(*(condition_for_address(self._layout, each, side, arp=arp) for each in wanted)) if wanted else NEVER
        )

    def _make_condition_for_port(self, word: str, words: _Words) -> Condition:
        protocols = _TRANSPORTS.get(words.protocol)
        first, dash, last = word.partition("-")
        if protocols is None or not _is_number_word(first) or bool(dash) != (words.kind == "portrange"):
            raise NotUnderstood(word)
        if dash and not _is_number_word(last):
            raise NotUnderstood(word)
        ends = sorted((_parse_number(first), _parse_number(last or first)))
        if ends[1] > 0xFFFF:
            raise NotUnderstood(f"{ends[1]} is no port: they end at 65535", certain=True)
        return condition_for_port(self._layout, protocols, ends[0], ends[1], words.side or EITHER)

    def _resolve_hosts(self, word: str) -> Sequence[IPv4Network | IPv6Network]:
        """The addresses of a host: an address as it is, of a name all that it has."""
        if "/" in word:
            raise NotUnderstood(word)
        try:
            return [IPv6Network(word) if ":" in word else IPv4Network(word)]
        except (AddressValueError, NetmaskValueError):
            if _DOTTED.fullmatch(word) or ":" in word:
                raise NotUnderstood(word) from None
        return self._resolve(word)

    def _parse_network(self, word: str) -> IPv4Network | IPv6Network:
        """`10.0.0.0/8`, `10`, `192.168`, `10.0.0.0 mask 255.0.0.0`, `2001:db8::/32`."""
        address, slash, prefix = word.partition("/")
        if self._peek_word() == "mask":
            self._take_word()
            slash, prefix = "/", str(_find_prefix_length_of_mask(self._take_word(), word))
        if slash and not _is_number_word(prefix):
            raise NotUnderstood(word)
        try:
            if ":" in address:
                return IPv6Network(f"{address}{slash}{prefix}")
            if not _DOTTED.fullmatch(address) or (not slash and not address.strip("0.")):
                raise NotUnderstood(word)  # of `net 0` libpcap makes something else than of `net 10`
            given = address.count(".") + 1
            whole = address + ".0" * (4 - given)
            return IPv4Network(f"{whole}/{prefix}" if slash else f"{whole}/{8 * given}")
        except (AddressValueError, NetmaskValueError):
            raise NotUnderstood(f"{word} is no network", certain=True) from None
        except ValueError:
            raise NotUnderstood(f"{word} has bits beyond its network's", certain=True) from None

    def _peek_word(self, ahead: int = 0) -> str:
        return self._tokens[self._at + ahead] if self._at + ahead < len(self._tokens) else ""

    def _take_word(self) -> str:
        word = self._peek_word()
        self._at += 1
        return word


def _find_prefix_length_of_mask(mask: str, word: str) -> int:
    """The length of the prefix that a mask is. Raises NotUnderstood: libpcap takes masks with holes."""
    try:
        bits = int(IPv4Address(mask))
    except AddressValueError:
        raise NotUnderstood(word) from None
    size = bits.bit_count()
    if bits != (0xFFFFFFFF << (32 - size)) & 0xFFFFFFFF:
        raise NotUnderstood(word)
    return size


def _is_number_word(word: str) -> bool:
    return word.isascii() and word.isdecimal()


def _parse_number(word: str) -> int:
    """A number of digits; of very many digits the first ones, which are beyond every limit too."""
    return int(word[:9]) if len(word.lstrip("0")) > 9 else int(word.lstrip("0") or "0")
