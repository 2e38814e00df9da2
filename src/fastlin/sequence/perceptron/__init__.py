"""Structured perceptron and its passive-aggressive relatives."""
