"""Globally normalised parsing: a log-linear model of all trees of a sentence together."""
