"""Hostile programs in the sandbox: what they try, what came of it at each level of isolation."""
