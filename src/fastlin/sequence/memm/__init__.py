"""Maximum-entropy Markov models."""
