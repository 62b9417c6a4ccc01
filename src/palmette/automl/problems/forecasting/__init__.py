"""Forecasting: the next rows of one or several series, with prediction intervals."""
