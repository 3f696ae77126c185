"""Connections that ended before they should in, one line that says why and what to do out."""
