"""The logging man in the middle for a whole cluster."""
