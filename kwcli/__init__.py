"""The program: everything that touches the world around the library `decoders`."""

from decoders import __version__

VERSION = __version__
