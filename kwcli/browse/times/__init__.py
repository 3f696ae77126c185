"""Times and zones as people type them in, instants, filters and rows out."""
