"""Bytes as people have them in (hex, dumps, base64, files), single messages out: what `kw decode` does."""
