"""The version of this package, in a module of its own: it is the only fact about the root package that rooms need."""

__version__ = "0.1.0"
