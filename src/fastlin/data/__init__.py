"""Corpora: readers of files, and rows in segments that learners visit one by one."""

from fastlin.registry import public_names

__all__, __getattr__, __dir__ = public_names(__name__)
