"""The memory that buffered frames of all connections share: what fits, who waits, in which order room is granted."""

from __future__ import annotations

from kwcli.proxy.relay.memory_share import SharedMemory


def test_what_fills_the_memory_exactly_fits() -> None:
    memory = SharedMemory(10)
    assert memory.reserve(4)
    assert memory.reserve(6)
    assert not memory.reserve(1)
    memory.release(6)
    assert not memory.reserve(7)
    assert memory.reserve(6)


def test_a_frame_larger_than_all_memory_fits_alone() -> None:
    memory = SharedMemory(10)
    assert memory.reserve(11)
    assert not memory.reserve(1)


def test_room_is_granted_in_the_order_of_asking() -> None:
    memory, granted = SharedMemory(10), list[str]()
    assert memory.reserve(10)
    memory.wait_for_room("a", 8, lambda: granted.append("a"))
    memory.wait_for_room("b", 2, lambda: granted.append("b"))
    memory.wait_for_room("c", 1, lambda: granted.append("c"))
    assert not memory.reserve(0)  # others wait
    memory.release(7)
    assert granted == []
    memory.release(3)
    assert (granted, memory.used, memory.has_waiters) == (["a", "b"], 10, True)
    memory.forget_owner("c")
    assert not memory.has_waiters
