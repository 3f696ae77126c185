"""Throw-away clusters on this machine: real Apache Kafka from jars, or librdkafka's mock."""
