"""The naive twins: what everything means, in loops one can read. They are the specification."""
