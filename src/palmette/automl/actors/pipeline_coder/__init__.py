"""Preparation, models and training by one hand: the ablation of modules that are told apart."""
