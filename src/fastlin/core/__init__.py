"""The base of every estimator; it knows no model."""
