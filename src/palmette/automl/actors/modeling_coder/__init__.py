"""The models of each track, against the contract of the features."""
