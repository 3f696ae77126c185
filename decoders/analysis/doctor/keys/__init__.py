"""Where producers put the records of a key: which partitioner each of them has."""
