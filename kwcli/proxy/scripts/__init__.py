"""Python functions that see the frames of the proxy and may change them. A script begins with
`from kwcli.proxy.scripts import on`.
"""

from kwcli.proxy.scripts.script_file import RedactedValue, ScriptExchange, on

__all__ = ["RedactedValue", "ScriptExchange", "on"]
