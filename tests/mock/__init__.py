"""Tests of `kw mock` and of the state machine under it."""
