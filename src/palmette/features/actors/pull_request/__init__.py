"""Delivers what passed: a branch, its description, and where wanted a pull request on a forge."""
