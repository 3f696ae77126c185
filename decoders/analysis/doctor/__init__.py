"""Exchanges in, findings out: what is wrong, who has it, since when, what it means and what to do."""
