"""What clients asked in a recording, asked again of another cluster: what `kw replay` does."""
