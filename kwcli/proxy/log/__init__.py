"""The proxy's log: a queue in the data path, and a process beside it that decodes, prints and writes."""
