"""Exchanges or single messages in, what a person or a script gets of them out: records, bodies, byte layouts."""
