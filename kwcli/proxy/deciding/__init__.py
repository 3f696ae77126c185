"""Frames that pass the proxy in; what rules, filters and people decide about them out."""
