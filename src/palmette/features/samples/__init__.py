"""The sample data of a registry's tables: its location, its differences from the registry, and its rows as frames."""

from palmette.features.samples.comparing import check_samples
from palmette.features.samples.reading import Sample, read_sample, sample_of

__all__ = ["Sample", "check_samples", "read_sample", "sample_of"]
