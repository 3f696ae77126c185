"""`--node` in all its forms."""

from __future__ import annotations

import pytest

from kwcli.calling.destinations import Target
from kwcli.run_environment import Exit, Failure


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("any", Target("any")),
        ("all", Target("all")),
        ("controller", Target("controller")),
        ("3", Target("node", 3)),
        ("1,2", Target("all", key="1,2")),
        ("coordinator:billing", Target("group", -1, "billing")),
        ("coordinator:a:b", Target("group", -1, "a:b")),
        ("txn:ledger", Target("transaction", -1, "ledger")),
        ("share:g:AAAAAAAAAAAAAAAAAAAAAQ:0", Target("share", -1, "g:AAAAAAAAAAAAAAAAAAAAAQ:0")),
        ("leader:orders-0", Target("leader", 0, "orders")),
        ("leader:my-topic-12", Target("leader", 12, "my-topic")),
    ],
)
def test_what_a_node_may_be_called(text: str, target: Target) -> None:
    assert Target.parse(text) == target


@pytest.mark.parametrize("text", ["", "x", "leader:orders", "leader:-1", "coordinator:", "share:g:0", "txn", "1.5"])
def test_anything_else_is_a_usage_error(text: str) -> None:
    with pytest.raises(Failure) as failure:
        Target.parse(text)
    assert failure.value.code == Exit.USAGE
