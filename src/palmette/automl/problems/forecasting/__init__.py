"""Forecasts of series: the next rows of one or several, with intervals."""
