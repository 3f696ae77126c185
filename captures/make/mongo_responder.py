"""Answers a MongoDB client over OP_MSG and OP_QUERY as a stand-alone server would, from the BSON library of pymongo.

The client is a real one; the package sources of the other captures have no MongoDB server.
"""

from __future__ import annotations

import socketserver
import struct
from typing import Any

import bson

__all__ = ["Server"]

_QUERY, _REPLY, _MSG = 2004, 1, 2013
_HELLO = {
    "helloOk": True,
    "ismaster": True,
    "maxBsonObjectSize": 16777216,
    "maxMessageSizeBytes": 48000000,
    "maxWriteBatchSize": 100000,
    "logicalSessionTimeoutMinutes": 30,
    "minWireVersion": 0,
    "maxWireVersion": 21,
    "readOnly": False,
    "ok": 1.0,
}


class _Connection(socketserver.StreamRequestHandler):
    documents: list[dict[str, Any]]

    def handle(self) -> None:
        while len(head := self.rfile.read(16)) == 16:
            size, request_id, _, operation = struct.unpack("<iiii", head)
            body = self.rfile.read(size - 16)
            answer = _message(self._answer(body)) if operation == _MSG else _reply(_HELLO)
            kind = _MSG if operation == _MSG else _REPLY
            self.wfile.write(struct.pack("<iiii", len(answer) + 16, request_id + 1000, request_id, kind) + answer)

    def _answer(self, body: bytes) -> dict[str, Any]:
        (size,) = struct.unpack_from("<i", body, 5)
        command = bson.decode(body[5 : 5 + size])
        name = next(iter(command))
        if name == "find":
            place = f"{command['$db']}.{command['find']}"
            batch = [{"_id": bson.ObjectId(), "order": number, "note": "x" * 50} for number in range(11, 50)]
            return {"cursor": {"firstBatch": batch, "id": 0, "ns": place}, "ok": 1.0}
        return {"insert": {"n": 50, "ok": 1.0}, "update": {"n": 1, "nModified": 1, "ok": 1.0}}.get(name, _HELLO)


def _message(document: dict[str, Any]) -> bytes:
    return struct.pack("<IB", 0, 0) + bytes(bson.encode(document))


def _reply(document: dict[str, Any]) -> bytes:
    return struct.pack("<iqii", 8, 0, 0, 1) + bytes(bson.encode(document))


class Server(socketserver.ThreadingTCPServer):
    """A server on a free port of 127.0.0.1."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.port = int(self.server_address[1])
