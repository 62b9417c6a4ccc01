"""Delivers a verified view: a branch, a description and, on request, a pull request on a forge."""
