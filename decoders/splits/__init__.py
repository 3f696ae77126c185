"""A capture cut anywhere and put together again: only the pipeline needs it."""
