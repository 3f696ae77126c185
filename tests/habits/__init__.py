"""Command lines that people type first, as data, each with its exit code and the text that must appear."""
