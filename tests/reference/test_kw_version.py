"""Which kw this is: compiled or not, what it needs, what its extras need."""

from __future__ import annotations

from decoders.wire import primitive_types
from kwcli.reference.kw_version import find_kw_versions, is_compiled


def test_code_is_plain_where_its_files_are() -> None:
    assert is_compiled() is not str(primitive_types.__file__).endswith(".py")
    found = find_kw_versions()
    assert found["compiled"] is is_compiled()
    assert found["libraries"]["click"]
    assert "pytest" not in found["extras"]
    assert not found["libraries"].keys() & found["extras"].keys()
