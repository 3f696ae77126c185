"""Work in a thread: its result or its failure comes, and the end of the program does not wait for it."""

from __future__ import annotations

import pytest

from kwcli.pipeline.background_call import BackgroundCall


def test_the_result_or_the_failure_is_that_of_the_work() -> None:
    well: BackgroundCall[int] = BackgroundCall(lambda: 7)
    badly: BackgroundCall[float] = BackgroundCall(lambda: 1 / 0)
    assert well.daemon
    well.start()
    badly.start()
    assert well.result() == 7
    with pytest.raises(ZeroDivisionError):
        badly.result()
