"""Tests of `kw replay`."""
