"""Error codes: their names and meanings, what to do about each, and which API answers with which of them, and where."""
