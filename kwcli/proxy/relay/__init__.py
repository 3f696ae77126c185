"""One client's connection through the proxy: what is done with its bytes, and the two sockets that carry them."""
