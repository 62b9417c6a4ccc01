"""Static rules: forbidden constructs are found in the syntax tree before anything runs."""
