"""The short facts of an exchange's line of text: which facts each API has, and the functions that make them."""
