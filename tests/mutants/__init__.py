"""Small changes of the sources, one at a time, and whether any test sees them."""
