"""The version of the package. A module of its own, because some code must not import the package's root."""

__version__ = "0.1.0"
