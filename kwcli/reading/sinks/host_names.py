"""A file that names addresses in, `client_name` and `broker_name` of exchanges out.

The file has the form of /etc/hosts (address, name, further names, `#` begins a comment), or is the JSON of `kubectl get
pods -o json` or of `docker inspect`. Of several names for an address the first counts. Pods that have ended are left
out, as others get their addresses; pods in the network of their node have its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final

import orjson

from kwcli.output.short_texts import count_of
from kwcli.reading.capture_sources import escape_non_utf8
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Settled
    from kwcli.run_environment import Environment

__all__ = ["HostNames", "read_host_names"]

# A list of all pods of a large cluster has some tens of megabytes.
_SIZE_MAX: Final = 256 << 20
_NAME_MAX: Final = 253
_TOLD_MAX: Final = 5
# Beside host names Docker's and Kubernetes' own: letters, digits, `.`, `_`, `-`.
_NAME: Final = re.compile(r"[\w.-]+", re.ASCII)
_JSON: Final = re.compile(rb"\s*[\[{]")


class HostNames:
    """Names by address; of the rows of connections that are read, each address is looked up once."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names
        self._by_end: dict[str, str | None] = {}

    def add_names_to_rows(self, rows: Iterable[Settled]) -> None:
        """Add the names of both ends to exchanges."""
        for row in rows:
            if row.kind != "exchange":
                continue
            client, broker = self._find_name(row.client), self._find_name(row.broker)
            if client is not None or broker is not None:
                extra = dict(row.extra or {})
                if client is not None:
                    extra["client_name"] = client
                if broker is not None:
                    extra["broker_name"] = broker
                row.extra = extra

    def put_names_in_place_of_addresses(self, ends: Any) -> Any:
        """An address, with a port or without, or a list of some, with names in place of addresses that have one."""
        if isinstance(ends, list):
            return list(map(self.put_names_in_place_of_addresses, ends))
        if not isinstance(ends, str):
            return ends
        bare = self.names.get(_parse_address(ends) or "")
        name = self._find_name(ends) if bare is None else None
        return bare or (ends if name is None else f"{name}:{ends.rpartition(':')[2]}")

    def _find_name(self, end: str) -> str | None:
        """The name of `host:port`."""
        by_end = self._by_end
        try:
            return by_end[end]
        except KeyError:
            pass
        if len(by_end) > 1 << 16:
            by_end.clear()
        address = _parse_address(end.rpartition(":")[0].strip("[]"))
        name = by_end[end] = None if address is None else self.names.get(address)
        return name


def read_host_names(word: str, env: Environment) -> HostNames:
    """Read a file of --hosts; lines that say nothing are told. Raises Failure where it cannot be read."""
    shown = escape_non_utf8(word)
    try:
        with open(word, "rb") as file:
            data = file.read(_SIZE_MAX + 1)
    except (OSError, ValueError) as error:
        raise Failure(f"{shown}: {(getattr(error, 'strerror', None) or str(error)).lower()}") from None
    if len(data) > _SIZE_MAX:
        raise Failure(f"{shown}: a file of names has at most {_SIZE_MAX >> 20} MiB", Exit.USAGE)
    found = _parse_kubectl_or_docker_json(data, shown) if _JSON.match(data) else _parse_hosts_lines(data)
    names: dict[str, str] = {}
    faults: list[str] = []
    for where, text, name in found:
        address = _parse_address(text)
        if address is None:
            faults.append(f"{where}: no address: {text[:40]!r}")
        elif len(name) > _NAME_MAX or not _NAME.fullmatch(name):
            faults.append(f"{where}: no name of a host: {name[:40]!r}")
        elif names.setdefault(address, name) != name:
            faults.append(f"{where}: {text} is {names[address]} already, and not {name}")
    for fault in faults[:_TOLD_MAX]:
        env.report(f"kw: {shown}: {fault}")
    if len(faults) > _TOLD_MAX:
        env.report(f"kw: {shown}: {count_of(len(faults) - _TOLD_MAX, 'line')} more like these")
    return HostNames(names)


def _parse_address(text: str) -> str | None:
    """An IP address in its one form; an IPv6 address without its zone, an IPv4 address in one of IPv6 as such."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return str(getattr(address, "ipv4_mapped", None) or address)


# Where it stands, address, name.
_Named = tuple[str, str, str]


def _parse_hosts_lines(data: bytes) -> Iterator[_Named]:
    for number, line in enumerate(data.decode("utf-8", "backslashreplace").splitlines(), 1):
        words = line.partition("#")[0].split()
        if words:
            yield f"line {number}", words[0], words[1] if len(words) > 1 else ""


def _parse_kubectl_or_docker_json(data: bytes, shown: str) -> Iterator[_Named]:
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise Failure(f"{shown}: line {error.lineno}: no JSON: {error.msg}", Exit.USAGE) from None
    items = value if isinstance(value, list) else _find_value_below_keys(value, "items", kind=list) or [value]
    known = 0
    for number, item in enumerate(items, 1):
        for name, address in (*_list_addresses_and_names_of_pod(item), *_list_addresses_and_names_of_container(item)):
            known += 1
            yield f"item {number}", address, name
    if not known:
        forms = "kubectl get pods -o json, docker inspect, or the form of /etc/hosts"
        raise Failure(f"{shown}: no addresses in this JSON: --hosts takes {forms}", Exit.USAGE)


def _list_addresses_and_names_of_pod(item: Any) -> Iterator[tuple[str, str]]:
    if _find_value_below_keys(item, "status", "phase", kind=str) in ("Succeeded", "Failed"):
        return
    name = _find_value_below_keys(item, "metadata", "name", kind=str)
    if _find_value_below_keys(item, "spec", "hostNetwork", kind=bool):
        name = _find_value_below_keys(item, "spec", "nodeName", kind=str) or name
    rows = [
        _find_value_below_keys(item, "status"),
        *(_find_value_below_keys(item, "status", "podIPs", kind=list) or ()),
    ]
    addresses = [
        _find_value_below_keys(row, key, kind=str)
        for row, key in zip(rows, ("podIP", *["ip"] * len(rows)), strict=False)
    ]
    for address in dict.fromkeys(addresses):
        if name and address:
            yield name, address


def _list_addresses_and_names_of_container(item: Any) -> Iterator[tuple[str, str]]:
    name = (_find_value_below_keys(item, "Name", kind=str) or "").removeprefix("/")
    settings = _find_value_below_keys(item, "NetworkSettings")
    rows = [settings, *(_find_value_below_keys(settings, "Networks") or {}).values()]
    addresses = [
        _find_value_below_keys(row, key, kind=str) for row in rows for key in ("IPAddress", "GlobalIPv6Address")
    ]
    for address in dict.fromkeys(addresses):
        if name and address:
            yield name, address


def _find_value_below_keys(value: Any, *keys: str, kind: type = dict) -> Any:
    """The value below these keys; None where it is not there or of another kind."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, kind) else None
