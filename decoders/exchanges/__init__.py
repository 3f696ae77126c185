"""Frames in, exchanges out: requests and responses paired by correlation id, one table for each connection."""
