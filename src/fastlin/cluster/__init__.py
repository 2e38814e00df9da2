"""Learning without labels, or with few."""
