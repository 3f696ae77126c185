"""What the proxy does with bytes, without a socket, a clock or a file."""
