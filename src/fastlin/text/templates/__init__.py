"""Features of tokens from raw tokens, by templates that are compiled once; and templates that are known to do well."""

from fastlin.registry import public_names

__all__, __getattr__, __dir__ = public_names(__name__)
