"""Connections to brokers: a sans-IO core and the drivers that do its reading and writing."""
