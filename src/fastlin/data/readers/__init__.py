"""Readers of files: one format a module."""
