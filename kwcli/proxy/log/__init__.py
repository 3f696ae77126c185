"""The proxy's log: a feed in the data path, and a process beside it that decodes, prints and writes."""
