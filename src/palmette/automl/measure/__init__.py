"""What the harness measures of predictions: scores, their intervals, and error reduction over a dummy."""
