"""Hands over the project: only what it needs, running as it promises."""
