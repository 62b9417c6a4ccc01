"""FeatBench: feature views for an offers recommender, each with everything that is known of the right answer."""
