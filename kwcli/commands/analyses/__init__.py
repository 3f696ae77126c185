"""The commands that answer a question about captures: one file for each, or for a few alike."""
