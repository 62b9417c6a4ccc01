"""Features for the offer recommender."""
