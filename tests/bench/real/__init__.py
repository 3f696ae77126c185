"""kw against tshark on captures of real clients at real clusters: `python -m tests.bench.real`."""
