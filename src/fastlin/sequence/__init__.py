"""Labels of sequences: hidden Markov models, maximum-entropy Markov models, conditional random fields, perceptrons."""
