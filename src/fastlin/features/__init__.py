"""Transformers of columns and documents: conjunctions, functions, log-count ratios, dicts."""
