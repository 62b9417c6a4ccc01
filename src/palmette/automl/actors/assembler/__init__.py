"""The search: own code on a sample first, with repairs, then all candidates in full."""
