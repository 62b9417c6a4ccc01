"""Metamorphic relations: changes of the input that must not change the features."""
