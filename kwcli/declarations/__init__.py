"""Kafka's message definitions (a kafka-clients jar) compared with, and written into, our own declarations."""
