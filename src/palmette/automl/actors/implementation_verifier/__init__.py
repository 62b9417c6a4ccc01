"""The one verdict: the delivered model on rows that no training saw, its endpoint, and the request's constraints."""
