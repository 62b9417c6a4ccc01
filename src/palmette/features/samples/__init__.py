"""The sample data of a registry's tables: where it lies, held against the registry, and as frames for the oracle."""

from palmette.features.samples.comparing import check_samples
from palmette.features.samples.reading import Sample, read_sample, sample_of

__all__ = ["Sample", "check_samples", "read_sample", "sample_of"]
