"""A patch of one module of own code that failed."""
