"""Kafka's releases, oldest first."""

from __future__ import annotations

from typing import Final

RELEASES: Final = ("4.4",)
