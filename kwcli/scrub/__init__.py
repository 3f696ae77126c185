"""A capture in, one that may be sent to others out, checked: what `kw scrub` does."""
