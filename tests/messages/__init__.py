"""Tests of messages: records of exchanges, and single messages."""
