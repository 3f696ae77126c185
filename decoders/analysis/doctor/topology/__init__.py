"""How topics came to be, where clients and nodes are, what a Streams application lacks, and what a log lost."""
