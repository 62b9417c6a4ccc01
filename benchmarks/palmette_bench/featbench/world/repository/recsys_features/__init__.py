"""Features of the recommender."""
