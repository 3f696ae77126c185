"""Scripts: Python functions that see and may change frames that pass the proxy.

A script begins with `from kwcli.proxy.scripts import on`.
"""

from kwcli.proxy.deciding.scripts.script_api import RedactedValue, ScriptExchange, on

__all__ = ["RedactedValue", "ScriptExchange", "on"]
