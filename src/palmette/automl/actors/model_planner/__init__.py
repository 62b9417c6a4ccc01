"""A plan's part for the models: candidates with what they are expected to be, found without training."""
