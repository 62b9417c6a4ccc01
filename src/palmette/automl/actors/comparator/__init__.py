"""The best of everything that was trained, by out-of-fold predictions."""
