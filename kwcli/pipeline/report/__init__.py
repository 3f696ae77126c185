"""Tables of the pipeline in, what they say out: as text, as JSON, as one page."""
