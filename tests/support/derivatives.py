"""Numerical derivatives."""

import numpy as np


def derivative(function, theta, step=1e-6):
    """Central differences, one parameter a row."""
    unit = step * np.eye(len(theta))
    return np.array([(function(theta + e) - function(theta - e)) / (2 * step) for e in unit])
