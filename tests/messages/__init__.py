"""Tests of what comes of exchanges and single messages."""
