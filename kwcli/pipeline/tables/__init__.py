"""Exchanges in, Parquet tables out: what their columns are, how they are filled, how they are written."""
