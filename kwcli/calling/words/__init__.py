"""Words of a command line in, a request's body out: paths and values, short words, names of entities."""
