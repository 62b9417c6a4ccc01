"""A small project, trained for a moment, with everything that its delivery needs."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache, cached_property
from itertools import count
from pathlib import Path

import numpy as np
import pandas as pd

from palmette.automl.actors.comparator.actor import Comparator, ComparatorInput
from palmette.automl.actors.data_profiler.offline import ProfilerInput, compute
from palmette.automl.actors.deployer.actor import Deployer
from palmette.automl.actors.deployer.input import DeployerInput
from palmette.automl.artefacts import Assembly, Delivery, Settings, TrackRun
from palmette.automl.data.load import load
from palmette.automl.endpoint import Measured
from palmette.automl.material import Material
from palmette.automl.modalities import Outline, draft
from palmette.automl.modalities.tabular import Blueprint, write_project
from palmette.automl.project import Project
from palmette.automl.requirements import DataSummary, read_request
from palmette.automl.store import Store
from palmette.engine import Context
from palmette.sandbox import Sandbox

WISH = "Build a model to predict the grade of a dish; a prediction must take less than 2 seconds."
ROWS = 160


class SmallDelivery:
    """What the actors upstream of the delivery make of a table of dishes, in a folder."""

    def __init__(self, folder: Path, sandbox: Sandbox) -> None:
        self._numbers = count()
        self.folder, self.sandbox, self.store = folder, sandbox, Store(folder / "fitted")
        path = folder / "dishes.csv"
        dishes().to_csv(path, index=False)
        loaded = load([path])
        made = read_request(WISH, DataSummary.model_validate(loaded.dataset.model_dump()).hints).requirements
        requirements = made.model_copy(
            update={
                "problem": made.problem.model_copy(update={"task": "classification"}),
                "dataset": made.dataset.model_copy(update={"target_column": "grade"}),
            }
        )
        profile = compute(ProfilerInput(requirements=requirements, dataset=loaded.dataset))
        material = Material.of(loaded.dataset, profile)
        outline = Outline(
            requirements=requirements,
            dataset=loaded.dataset,
            profile=profile,
            rows=material.train,
            left_out={},
            reasons={},
            algorithms=["linear"],
            seed=0,
        )
        blueprint = draft(outline)
        assembly = self._trained(blueprint, material)
        asked = ComparatorInput(dataset=loaded.dataset, profile=profile, blueprint=blueprint, assembly=assembly)
        comparison = Comparator(self.store).run(asked, self.context("comparator")).output
        assert comparison is not None
        self.input = DeployerInput(
            assembly=assembly,
            comparison=comparison,
            requirements=requirements,
            dataset=loaded.dataset,
            blueprint=blueprint,
            profile=profile,
            settings=Settings(out=str(folder / "delivered")),
        )

    def _trained(self, blueprint: Blueprint, material: Material) -> Assembly:
        files = write_project(blueprint)
        project = Project(self.store.fresh("project"), self.sandbox)
        project.write(files)
        project.lay_out(material, blueprint)
        project.train("traditional", blueprint, seconds=1)
        run = TrackRun(track="traditional", folder="tracks/traditional", seconds=1, candidates=2)
        return Assembly(files=files, store="project", tracks=(run,))

    def deployer(self) -> Deployer:
        return Deployer(self.sandbox, self.store, self.folder / "delivered")

    def quick_deployer(self) -> Deployer:
        """One that believes what was measured before, as its project is always the same."""
        made = self.deployer()
        known = Measured(self.delivery.measurements, (), self.delivery.p50, self.delivery.p95)
        made._measured = lambda *_: known  # type: ignore[method-assign]  # on purpose
        return made

    @cached_property
    def delivery(self) -> Delivery:
        """The project, delivered to the folder of the settings."""
        attempt = self.deployer().run(self.input, self.context("deployer"))
        assert attempt.output is not None, attempt.violations
        return attempt.output

    def context(self, actor: str) -> Context:
        workspace = self.folder / "work" / f"{actor}-{next(self._numbers)}"
        workspace.mkdir(parents=True)
        return Context(actor, workspace)


@cache
def small_delivery() -> SmallDelivery:
    """The one of this test session."""
    folder = Path(tempfile.mkdtemp(prefix="palmette-small-delivery-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return SmallDelivery(folder, Sandbox())


def dishes() -> pd.DataFrame:
    """Rows of every kind of column but free text."""
    random = np.random.default_rng(0)
    price, spicy = random.normal(12, 3, ROWS).round(2), random.choice(["yes", "no"], ROWS)
    place = random.choice(["market", "harbour", "station"], ROWS)
    since = pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 600, ROWS), unit="D")
    good = price + 3 * (place == "harbour") + 2 * (spicy == "yes") + random.normal(0, 0.5, ROWS) > 14
    table = pd.DataFrame({"price (EUR)": price, "spicy": spicy, "place": place, "since": since.strftime("%d.%m.%Y")})
    table.loc[random.random(ROWS) < 0.1, "place"] = None
    return table.assign(grade=np.where(good, "good", "poor"))
