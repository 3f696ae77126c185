"""Chunks in, Kafka frames out: who speaks Kafka, where frames begin and end, and where again after a loss."""
