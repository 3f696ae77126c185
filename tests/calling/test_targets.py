"""`--node` in all its forms."""

from __future__ import annotations

import pytest

from kwcli.calling.request_destinations import NodeTarget
from kwcli.run_environment import Exit, Failure


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("any", NodeTarget("any")),
        ("all", NodeTarget("all")),
        ("controller", NodeTarget("controller")),
        ("3", NodeTarget("node", 3)),
        ("1,2", NodeTarget("all", key="1,2")),
        ("coordinator:billing", NodeTarget("group", -1, "billing")),
        ("coordinator:a:b", NodeTarget("group", -1, "a:b")),
        ("txn:ledger", NodeTarget("transaction", -1, "ledger")),
        ("share:g:AAAAAAAAAAAAAAAAAAAAAQ:0", NodeTarget("share", -1, "g:AAAAAAAAAAAAAAAAAAAAAQ:0")),
        ("leader:orders-0", NodeTarget("leader", 0, "orders")),
        ("leader:my-topic-12", NodeTarget("leader", 12, "my-topic")),
    ],
)
def test_what_a_node_may_be_called(text: str, target: NodeTarget) -> None:
    assert NodeTarget.parse(text) == target


@pytest.mark.parametrize("text", ["", "x", "leader:orders", "leader:-1", "coordinator:", "share:g:0", "txn", "1.5"])
def test_anything_else_is_a_usage_error(text: str) -> None:
    with pytest.raises(Failure) as failure:
        NodeTarget.parse(text)
    assert failure.value.code == Exit.USAGE
