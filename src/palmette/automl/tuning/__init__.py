"""Tuning a model for the agents: instruction data, trajectories of runs, LoRA training, and evaluation."""
