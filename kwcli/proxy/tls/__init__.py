"""TLS towards clients: an authority of the proxy's own, certificates in its name, and what failed handshakes mean."""
