"""A records field in any of the three formats in, batches and records out; and back."""
