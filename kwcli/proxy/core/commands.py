"""What the core asks the shell to do: tuples that begin with one of these numbers; and the two sides of a connection.

`client_bytes`, `server_bytes` and the like give a list of them, to be done in order.
"""

from __future__ import annotations

from typing import Any, Final

Command = tuple[Any, ...]

SEND_SERVER: Final = 0  # data
SEND_CLIENT: Final = 1  # data
RESOLVE: Final = 2  # ticket, endpoints: listen for these nodes, then call `resolved(ticket, where, now_ns)`
RESERVE: Final = 3  # size: call `reserved(now_ns)` when there is room for so much; nothing is read before
RELEASE: Final = 4  # size: what was reserved has gone to the client
PAUSE: Final = 5  # side: read nothing more from it
RESUME: Final = 6  # side
END: Final = 7  # side: it gets no more bytes, but may still send
CLOSE: Final = 8  # reason, loud: send what was given, then end both; loud: people should know
NOTE: Final = 9  # text: something people should know, the connection goes on
# Correlation id, when the request's last byte left, when its answer's first byte came (ns), API key.
ANSWERED: Final = 10
CAPPED: Final = 11  # count of versions that were taken back in an answer to ApiVersions
# Side: enough was done at once for what it sent, the rest is kept; read nothing more from it, let other connections
# have their turn, then call `go_on(side, now_ns)`.
YIELD: Final = 12

CLIENT: Final = 0
SERVER: Final = 1
