"""The actors of the AutoML environment, one folder each."""
