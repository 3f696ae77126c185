"""Tests of `kw browse`."""
