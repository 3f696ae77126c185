"""Tables of the pipeline in, a report on them out: as text, as JSON, as one page."""
