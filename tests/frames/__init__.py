"""Tests of framing: chunks in, frames out."""
