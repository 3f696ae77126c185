"""The panes of the screen: rows, fields, bytes and counts in, lines with a cursor out."""
