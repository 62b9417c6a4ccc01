"""The plans' data steps: the treatment of every column, and derived features, decided before training."""
