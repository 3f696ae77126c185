"""A host and port in, a connected TCP socket out, in time; every failure is one line that says what to look at.

Names are resolved in a thread of their own: nothing else can end a resolver that waits for a silent name server.
"""

from __future__ import annotations

import _thread
import errno
import socket
from typing import Any, Final

from kwcli.env import Exit, Failure
from kwcli.net import addresses
from kwcli.net.config.client_config import Address
from kwcli.net.errors.connection_stops import NO_BROKER
from kwcli.net.with_timeout import Deadline

# What getaddrinfo gives of an address: its family, and what connect() takes.
Place = tuple[int, tuple[Any, ...]]

_REASONS: Final = {
    errno.ECONNREFUSED: ("refused the connection", "is the broker running, and is it the right port?"),
    errno.ECONNRESET: ("closed the connection at once without a word", NO_BROKER),
    errno.EHOSTUNREACH: ("is unreachable", "no route to the host: VPN, firewall or wrong address?"),
    errno.EMFILE: ("cannot be reached: too many files are open", "raise the limit: ulimit -n"),
    errno.ENETUNREACH: ("is unreachable", "no route to its network: VPN, firewall or wrong address?"),
    errno.EACCES: ("is unreachable", "a firewall of this machine forbids it"),
    errno.EPERM: ("is unreachable", "a firewall of this machine forbids it"),
}


def text_of(address: Address) -> str:
    """`host:port`, `[::1]:9092`."""
    return addresses.shown(address)


def resolve(address: Address, shown: str, deadline: Deadline) -> list[Place]:
    """Every address that the name has, in the system's order. Raises Failure, a line that begins with `shown`."""
    host, port = address
    problem = addresses.unusable(address)  # the proxy's listeners lead wherever a broker said
    if problem is not None:
        raise Failure(f"{shown}: {problem}", Exit.UNREACHABLE)
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host)
        except (OSError, ValueError):
            continue
        return [(family, (host, port))]
    found = _look_up(host, port, deadline)
    if found is None:
        raise Failure(f"{shown}: the name server did not answer within {_seconds(deadline)}", Exit.TIMEOUT)
    if isinstance(found, Exception):
        raise Failure(f"{shown}: no address for {host!r}; {_why(found)}", Exit.UNREACHABLE)
    return found


def _look_up(host: str, port: int, deadline: Deadline) -> list[Place] | Exception | None:
    """getaddrinfo's answer or error, None where it gave none in time."""
    # As bytes where that will do: the codec for other names takes 5 ms to load.
    name = host.encode("ascii") if host.isascii() else host
    result: list[list[Place] | Exception] = []
    waiting = _thread.allocate_lock()
    waiting.acquire()

    def ask() -> None:
        try:
            rows = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
            result.append(list(dict.fromkeys((row[0], row[4]) for row in rows)))
        except (OSError, UnicodeError) as error:
            result.append(error)
        finally:
            waiting.release()

    _thread.start_new_thread(ask, ())
    waiting.acquire(timeout=deadline.left())
    return result[0] if result else None


def _why(error: Exception) -> str:
    if isinstance(error, socket.gaierror) and error.errno == socket.EAI_AGAIN:
        return "the name server cannot be asked now: is the network up?"
    if isinstance(error, UnicodeError):
        return "it cannot be a host name"
    return "is it spelt right? (containers and port-forwards: --dial-map)"


def dial(shown: str, places: list[Place], deadline: Deadline) -> socket.socket:
    """A socket connected to the first of these that takes it, the time left shared among them. Raises Failure."""
    failures: list[OSError] = []
    for left_over, (family, place) in zip(range(len(places), 0, -1), places, strict=True):
        try:
            connection = socket.socket(family, socket.SOCK_STREAM)
        except OSError as error:  # IPv6 where there is none
            failures.append(error)
            continue
        try:
            connection.settimeout(max(deadline.left() / left_over, 0.001))
            connection.connect(place)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            connection.close()
            failures.append(error)
        except BaseException:
            connection.close()
            raise
        else:
            return connection
    raise unreachable(shown, failures, deadline)


def unreachable(shown: str, failures: list[OSError], deadline: Deadline) -> Failure:
    """The line for what went wrong: a refusal says more than a silence."""
    known = next((error for error in failures if not isinstance(error, TimeoutError)), None)
    if known is None:
        text = f"{shown} did not take the connection within {_seconds(deadline)}"
        return Failure(f"{text}; is the host up, and does a firewall drop packets?", Exit.TIMEOUT)
    text, remedy = _REASONS.get(known.errno or 0, (f"cannot be reached: {known.strerror or known}", ""))
    return Failure(f"{shown} {text}" + (f"; {remedy}" if remedy else ""), Exit.UNREACHABLE)


def _seconds(deadline: Deadline) -> str:
    return f"{deadline.seconds:.3g} s"
