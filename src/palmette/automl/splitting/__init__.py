"""The split into training rows and a hold-out, by content and seed, so that it can be repeated."""
