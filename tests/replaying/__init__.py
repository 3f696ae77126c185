"""Tests of `decoders.replaying`."""
