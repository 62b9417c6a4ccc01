"""Clustering: rows are divided without a target, and scored by internal criteria and by stability across halves."""
