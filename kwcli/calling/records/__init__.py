"""Records by hand: what a command line or a pipe gives in, batches to send out; batches that came in, lines out."""
