"""franz-go: builds the program in `go/` and becomes it."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.broker.clients.built import become, built

if __name__ == "__main__":
    place = built("franz", Path(__file__).parent / "go", ["go", "build", "-o", "franz", "."])
    become([str(place / "franz"), *sys.argv[1:]])
