"""TCP segments in, each direction's bytes in stream order out, with what was lost named."""
