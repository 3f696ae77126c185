"""Tests of captures that are cut and stitched together."""
