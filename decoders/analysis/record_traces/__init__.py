"""Exchanges in, the life of records out: who wrote them, who read and committed them, when, and how often."""
