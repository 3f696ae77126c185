"""Moves of replicas to other nodes: what is observed of them, and findings about those that do not end."""
