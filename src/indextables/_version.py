"""The release, in one place for code that must not import the package's root."""

__version__ = "0.1.0"
