"""Captures larger than one machine: sources, splits, tables, and the engines that fill them."""
