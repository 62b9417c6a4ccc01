"""A blueprint that fixes what the coders may not decide."""
