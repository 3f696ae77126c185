"""Folds in, a report out: text, Markdown, JSON, or one page of HTML that needs nothing else."""
