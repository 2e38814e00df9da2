"""Naive Bayes: counted, of categories, and partly labelled by EM."""
