"""One module a capture: `python -m captures.make.NAME` makes it again (Java 17, Maven and tcpdump needed)."""
