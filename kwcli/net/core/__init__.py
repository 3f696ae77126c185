"""What a connection to a broker says and expects, without a socket, a clock or a file."""
