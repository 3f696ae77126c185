"""Exchanges in, Parquet tables out: what their columns are, how they are filled, how they are written."""

from typing import Final

# The tables of a run, in the order in which commands name them.
TABLE_NAMES: Final = ("exchanges", "topic_partitions", "connections", "skipped")
