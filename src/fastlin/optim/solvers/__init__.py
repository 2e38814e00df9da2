"""Solvers: one method a module."""
