"""kafkajs: installs what `node/package-lock.json` names and becomes the program in `node/`."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.broker.clients.built import become, built

if __name__ == "__main__":
    place = built("kafkajs", Path(__file__).parent / "node", ["npm", "ci", "--silent", "--no-audit", "--no-fund"])
    become(["node", str(place / "session.js"), *sys.argv[1:]])
