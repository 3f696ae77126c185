"""Tests of decoders/values."""
