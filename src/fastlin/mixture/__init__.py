"""Mixtures of multinomials, climbed by EM."""
