"""What a run is to reach."""

from __future__ import annotations

import pytest

from palmette.automl.requirements.classes import measured_class


@pytest.mark.parametrize(
    ("text", "values", "named", "meant"),
    [
        ("Good or bad credit? Recall of 'bad' matters most.", ("good", "bad"), (), "bad"),
        ("Edible or poisonous? Precision must be at least 99.9% for edible.", ("e", "p"), ("edible", "poisonous"), "e"),
        ("Recall of bad and precision for good", ("good", "bad"), (), None),
        ("Recall of the class yes.", ("no", "yes"), (), "yes"),
        ("Best accuracy on good days", ("good", "bad"), (), None),
        ("F1 of at least 0.6", ("0", "1"), (), None),
    ],
)
def test_the_positive_class_is_the_one_that_a_metric_is_of(
    text: str, values: tuple[str, ...], named: tuple[str, ...], meant: str | None
) -> None:
    assert measured_class(text, values, named) == meant
