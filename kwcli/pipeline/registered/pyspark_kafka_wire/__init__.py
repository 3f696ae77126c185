"""Spark finds this module by its name: with kw installed, `spark.read.format("kafka_wire")` needs no registration."""

from kwcli.pipeline.spark.data_source import KafkaWire as DefaultSource

__all__ = ["DefaultSource"]
