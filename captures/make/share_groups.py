"""share-groups.pcapng: two members of a share group (KIP-932) over IPv6, one record given back; share state inside."""

from __future__ import annotations

from captures.make.stage import record
from tests.broker.options import Options
from tests.broker.plays import QUICK_SHARE, share_groups

if __name__ == "__main__":
    record("share-groups.pcapng", Options(first_port=9092, host="::1", properties=QUICK_SHARE), share_groups)
