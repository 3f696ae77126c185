"""Captures of real traffic that ship with kw; `captures.make` has the program that re-makes each."""
