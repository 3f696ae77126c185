"""Exchanges in, their fields as the lines of a tree out, read a slice at a time."""
