"""What the delivered folder holds: the code, the members, and how to come to the score again."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from palmette.automl.artefacts import Assembly, Comparison
from palmette.automl.selection import Selection
from palmette.automl.wording import metric
from palmette.engine.actor import Violation

MEMBERS = "model/members.json"
FOLD_MODELS = "model/fold_models"
MODEL = re.compile(r"(\d+|all)\.joblib")
"""Names of a member's files: its model of each fold, or the one of all rows."""
README = "README.md"
AGAIN = """
## The score again

On the rows that the model was chosen by, {metric} is {score:.6g}{alone}, {measured}. The same rows in the same
folds make the model again:

```
python train.py --data {data} --folds {folds} --members model/members.json --out again
```
"""


def texts_of(assembly: Assembly, comparison: Comparison, rows: Path, folder: Path) -> dict[str, str]:
    """The text files of the delivery, by path; beside the training rows in the file `rows` are their folds."""
    texts = {file.path: file.text for file in assembly.files}
    data, folds = (_seen_from(folder, file) for file in (rows, rows.with_name("folds.csv")))
    selection = comparison.selection
    alone = "" if len(selection.members) == 1 else f" ({selection.single_score:.6g} of the best member alone)"
    told = {"metric": metric(selection.metric), "score": selection.score, "measured": comparison.measured}
    again = AGAIN.format(alone=alone, data=data, folds=folds, **told)
    texts[README] = texts.get(README, "").rstrip() + "\n" + again
    texts[MEMBERS] = selection.model_dump_json(indent=1) + "\n"
    return texts


def _seen_from(folder: Path, file: Path) -> str:
    """A path as it is named in the delivered folder: relative where both are in one run."""
    near = file.is_relative_to(folder.parent)
    return os.path.relpath(file, folder) if near else str(file)


def models_of(selection: Selection, fitted: Path) -> Iterator[tuple[str, Path]]:
    """The files of the fitted members: their paths in the delivery, and where they are now."""
    return ((name, path) for name, path in _left(selection, fitted) if MODEL.fullmatch(path.name) and path.is_file())


def _left(selection: Selection, fitted: Path) -> Iterator[tuple[str, Path]]:
    """All that training has left of the members; what is more than models nobody has chosen or measured."""
    for member in selection.members:
        for path in sorted((fitted / FOLD_MODELS / member.name).glob("*")):
            yield f"{FOLD_MODELS}/{member.name}/{path.name}", path


def write(project: Path, texts: dict[str, str], selection: Selection, fitted: Path) -> list[Violation]:
    """Writes the project into an empty folder; what is wrong with it before it has run."""
    for name, text in texts.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text, encoding="utf-8")
    chosen = dict(models_of(selection, fitted))
    for name, path in chosen.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, project / name)
    unfitted = [one.name for one in selection.members if not (project / FOLD_MODELS / one.name).is_dir()]
    tied = [name for name, text in texts.items() if name.endswith(".py") and re.search(IMPORT, text, re.MULTILINE)]
    more = [name for name, _ in _left(selection, fitted) if name not in chosen]
    return [
        *(_violation("unexpected-file", name, f"Training left {name}, which is no model of a fold.") for name in more),
        *(_violation("member-missing", name, f"The member {name!r} has no fitted models.") for name in unfitted),
        *(_violation("imports-palmette", name, f"{name} needs palmette; a project stands alone.") for name in tied),
    ]


IMPORT = r"^\s*(from|import)\s+palmette\b"


def _violation(code: str, subject: str, message: str) -> Violation:
    return Violation(code=code, message=message, subject=subject)
