"""Embeddings: arrays of the same length."""

from pyspark.sql import Column
from pyspark.sql import functions as F

LENGTH = 8


def mean_vector(vector: str, length: int = LENGTH) -> Column:
    """Aggregate: the mean, element by element; rows without a vector do not count."""
    values = F.array(*(F.avg(F.col(vector)[i].cast("double")) for i in range(length)))
    return F.when(F.count(vector) > 0, values)


def weighted_vector(vector: str, weight: str, length: int = LENGTH) -> Column:
    """Aggregate: the weighted mean; rows without a vector or a weight do not count."""
    counts = F.col(vector).isNotNull() & F.col(weight).isNotNull()
    heavy = F.when(counts, F.col(weight).cast("double"))
    sums = (F.sum(F.col(vector)[i].cast("double") * heavy) for i in range(length))
    return F.when(F.sum(heavy) != 0, F.array(*(F.try_divide(one, F.sum(heavy)) for one in sums)))
