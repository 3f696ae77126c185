"""Tests of the folds over exchanges."""
