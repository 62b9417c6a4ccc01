"""Chooses test cases by the deviations from the specification that they detect."""
