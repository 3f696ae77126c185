"""Tests of captures that are cut and put together again."""
