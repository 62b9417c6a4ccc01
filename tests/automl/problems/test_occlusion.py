"""What covering parts of files shows."""

import io
import re

import numpy as np
import pytest

pd = pytest.importorskip("pandas", reason="pandas is not installed")
pytest.importorskip("PIL", reason="Pillow is not installed")

from PIL import Image  # noqa: E402 - as above

from palmette.automl.encoders.image.pictures import picture_of  # noqa: E402 - as above
from palmette.automl.kinds import file_kinds  # noqa: E402 - as above
from palmette.automl.measure.metrics import Predictions  # noqa: E402 - as above
from palmette.automl.problems.explanations import occlusions, telling_rows  # noqa: E402 - as above


def picture(light: tuple[slice, slice], size: tuple[int, int] = (40, 60)) -> bytes:
    values = np.zeros((*size, 3), dtype=np.uint8)
    values[light] = 255
    file = io.BytesIO()
    Image.fromarray(values).save(file, "PNG")
    return file.getvalue()


def ask(rows: pd.DataFrame) -> Predictions:
    """A model that sees light."""
    light = np.array([picture_of(cell).mean() / 255 for cell in rows["photo"]])
    return Predictions(np.where(light > 0.02, "day", "night").astype(object), np.c_[light, 1 - light], ("day", "night"))


def test_the_part_that_the_answer_rests_on_changes_it_most() -> None:
    rows = pd.DataFrame({"photo": [picture((slice(0, 6), slice(0, 10))), picture((slice(34, 40), slice(50, 60)))]})
    found = occlusions(ask, rows, "photo", file_kinds()["image"], [1, 0])
    assert [one.row for one in found] == [1, 0]
    # The light is covered in the corner: what is likely, that it is dark, becomes more likely.
    assert [int(np.argmin(one.changes)) for one in found] == [35, 0]
    assert len(found[0].changes) == 36


@pytest.mark.parametrize("size", [(1, 1), (3, 200), (300, 300)])
def test_pictures_of_any_size_are_covered_and_shown(size: tuple[int, int]) -> None:
    kind, content = file_kinds()["image"], picture((slice(0, 1), slice(0, 1)), size)
    parts = kind.covered(content)
    assert len(parts) == 36
    plain, marked = kind.shown(content), kind.marked(content, [0.0] * 35 + [1.0])
    assert re.fullmatch(r'<img alt="" src="data:image/jpeg;base64,[\w+/=]+">', marked) and plain != marked


def test_wrong_answers_come_before_right_ones() -> None:
    shares = np.array([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.3, 0.7]])
    made = Predictions(np.array(["a", "a", "a", "b"], dtype=object), shares, ("a", "b"))
    assert telling_rows(np.array(["b", "b", "a", "b"]), made, [0, 1, 2, 3], 2) == ([0, 1], [2, 3])
