"""A program in the place of a language model (`command:`): writes own features, with faults at the rates of iML.

iML's first scripts fail in 60 of 100 tasks, one repair mends a third of those, and a quarter is never mended (its
figure 4: 40, 60 and 85 % valid with 0, 1 and 10 repairs). What is drawn follows from seed and columns alone.
"""

import hashlib
import random
import re
import sys

FAULTY, MENDED, HOPELESS = 0.6, 4 / 9, 0.25
"""Probability of a fault, of mending it in one repair where that is possible, and share that is never mended."""
LINE = '        numbers = X.select_dtypes("number")'
FAULTS = (
    '        numbers = X.append(X).select_dtypes("number")',
    '        numbers = X[["value_per_unit", "customer_age"]]',
    '        numbers = X.select_dtypes("number").dropna().iloc[1:]',
    '        numbers = X.select_dtypes("number").to_numpy().reshape(-1, 0)',
    '        numbers = X.select_dtypes("number") / 0 + float("inf")',
)
"""A removed call, invented columns, lost rows, a wrong shape, and values that are not finite."""
MODULE = '''"""Features of rows (key {key})."""

import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin


class RowFeatures(TransformerMixin, BaseEstimator):
    """How many values are missing, and the mean of the numbers."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
{line}
        missing = X.isna().sum(axis=1).astype(float)
        return pd.DataFrame({{"missing": missing, "mean": numbers.mean(axis=1)}}).astype(float)
'''


def drawn(*of: object) -> random.Random:
    return random.Random(" ".join(map(str, of)))


def written(prompt: str, seed: str) -> str:
    """Own features; a further attempt mends a fault as a repair does."""
    columns = prompt.partition("The columns:")[2].partition("Candidates of the plan:")[0]
    key = hashlib.sha256(f"{seed}{columns}".encode()).hexdigest()[:8]
    attempts = len(re.findall(r"^Attempt \d+:", prompt, re.MULTILINE))
    is_faulty = drawn(key, "fault").random() < FAULTY and not any(is_mended(key, n) for n in range(attempts))
    line = f"{drawn(key, 'kind').choice(FAULTS)}  # draft {attempts}" if is_faulty else LINE
    return f"```python own_features\n{MODULE.format(key=key, line=line)}```\n"


def is_mended(key: str, number: int) -> bool:
    """Whether the repair of this number mends the fault."""
    return drawn(key, "hope").random() >= HOPELESS and drawn(key, number).random() < MENDED


def repaired(prompt: str) -> str:
    """A patch of the faulty line."""
    user = prompt.rpartition("The modules:")[2]
    (key,), (line,) = re.findall(r"\(key (\w+)\)", user), re.findall(r"^        numbers = .*$", user, re.MULTILINE)
    number = int((re.findall(r"# (?:repair|draft) (\d+)", line) or ["0"])[0])
    wrong = f"{line.partition('  #')[0]}  # repair {number + 1}"
    new = LINE if is_mended(key, number) else wrong
    return f"```patch code\n<<<<<<< old\n{line}\n=======\n{new}\n>>>>>>> new\n```\n"


if __name__ == "__main__":
    asked = sys.stdin.read()
    print(repaired(asked) if "The modules:" in asked else written(asked, sys.argv[1]))
