"""Key stores, ciphers and certificates of our own."""
