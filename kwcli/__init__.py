"""The program: everything that touches the world around the library `decoders`."""

VERSION = "0.1.0"
