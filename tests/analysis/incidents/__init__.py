"""Incidents of real clusters, one row each: what happens, and which finding of `kw doctor` has to come first."""
