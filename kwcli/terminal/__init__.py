"""A person's terminal: the pager, the text editor, the progress line."""
