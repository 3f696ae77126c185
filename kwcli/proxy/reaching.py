"""Where a listener leads in, a broker that took the connection out, or why there is none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kwcli.exits import Failure
from kwcli.net.core.addresses import shown

if TYPE_CHECKING:
    from kwcli.net.aio import Dialler
    from kwcli.net.core.config import Address
    from kwcli.proxy.pauses import Pauses


class Reached(NamedTuple):
    """`target` is who took it; `failures` what others said, `paused` who is not asked at the moment."""

    target: Address | None
    failures: Sequence[str]
    paused: Sequence[str]


async def reach(
    targets: Sequence[Address], dialler: Dialler, pauses: Pauses, factory: Callable[[], asyncio.Protocol]
) -> Reached:
    """One after the other, until one takes it."""
    failures, paused = [], []
    for target in targets:
        if pauses.holds(target):
            paused.append(f"{shown(target)} did not take the proxy's login; it is not asked again for a while")
            continue
        try:
            await dialler.dial(target, factory)
        except Failure as failure:
            failures.append(failure.text)
            continue
        return Reached(target, failures, paused)
    return Reached(None, failures, paused)
