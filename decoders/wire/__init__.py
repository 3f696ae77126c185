"""Kafka's primitive types, text for people, and built-in values packed into bytes and back."""
