"""Filters that the kernel runs before a live capture: TCP ports, or words of tcpdump's language, to socket programs."""
