"""The pipeline on Spark: a session that works out of the box, the data source `kafka_wire`, and `exchanges`.

This module only imports names; PySpark and Java are looked for when one of the functions is called.
"""

from __future__ import annotations

from kwcli.pipeline.spark.captures_to_dataframes import connections, exchanges, topic_partitions
from kwcli.pipeline.spark.spark_sessions import register, session

__all__ = ["connections", "exchanges", "register", "session", "topic_partitions"]
