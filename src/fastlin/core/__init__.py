"""What every estimator is built on; it knows no model."""
