"""The control interface of a running proxy: HTTP on loopback, behind a token."""
