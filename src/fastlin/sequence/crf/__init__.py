"""Conditional random fields."""
