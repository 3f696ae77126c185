"""Recorded requests in, what may be asked again of another cluster out; two answers in, how they differ out."""
