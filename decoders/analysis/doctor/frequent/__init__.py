"""Requests that clients send far too often: commits of each record, producer ids for each piece of work."""
