"""Rows and messages of the screen in, files, packets and call lines out."""
