"""An address in, a connected stream out, by TCP or TLS."""
