"""The actors of the AutoML environment, a folder each."""
