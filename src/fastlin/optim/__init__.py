"""Optimisers: the log-linear problem and its partitions, epochs over rows, what is certified, and the solvers."""
