"""The number of files that a command line runs through does not grow (`python -m tests.walk`)."""

from __future__ import annotations

import pytest

from tests.walk import walks

# One of them is decoders/named_tuple.py, which makes the start shorter. They were 42 and 40 before modules that had two
# subjects were split, and 47 for sniff before reading became sources, a loop, a table of ends and sinks. Three of its
# files came with prefixes of connections and with remarks, one with connections that a capture has twice, and two with
# options of captures and their clashes, which have left a file of 700 lines.
MOST = {"kw call Metadata": 50, "kw sniff tour.pcapng": 55}


@pytest.mark.long
def test_a_command_enters_no_more_files_than_before() -> None:
    found = walks()
    assert found.keys() == MOST.keys()
    assert all("kwcli/main.py" in files for files in found.values())
    assert {name: len(files) for name, files in found.items() if len(files) > MOST[name]} == {}
