"""Linear classifiers: online learners, logistic regression, support vector machines, candidates, weights by hand."""
