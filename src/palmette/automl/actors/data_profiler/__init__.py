"""Computes the profile of the training rows."""
