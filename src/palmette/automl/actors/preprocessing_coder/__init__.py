"""Own features of a language model, executed at once; none by the rules."""
