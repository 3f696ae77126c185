"""The protocol offline: declarations, release table and error codes in; rows for people and for programs out."""
