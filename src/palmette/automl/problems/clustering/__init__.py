"""Clustering: rows divided without a target, compared by internal criteria and by whether halves are divided alike."""
