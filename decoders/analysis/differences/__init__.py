"""Two lots of traffic in, what changed from one to the other out."""
