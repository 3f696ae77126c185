"""Options, profiles and property files in, one checked configuration of a client out."""
