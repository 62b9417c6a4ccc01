"""The split into training rows and a hold-out, by content and seed, so that it can be repeated."""

from palmette.automl.splitting.data_splits import DataSplits, HoldOut, SplitRequest

__all__ = ["DataSplits", "HoldOut", "SplitRequest"]
