"""A small table that is trained for a moment, judged, and ready for its delivery."""

import atexit
import shutil
import tempfile
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from small_coding import Shop

from palmette.automl.actors.assembler.actor import Assembler
from palmette.automl.actors.comparator.actor import Comparator
from palmette.automl.actors.deployer.actor import Deployer
from palmette.automl.actors.implementation_verifier.actor import ImplementationVerifier
from palmette.automl.actors.modeling_coder.actor import ModelingCoder
from palmette.automl.actors.preprocessing_coder.actor import PreprocessingCoder
from palmette.automl.artefacts import Delivery
from palmette.engine import Context

ROWS = 160
STEPS: tuple[Any, ...] = (PreprocessingCoder, ModelingCoder, Assembler, Comparator, ImplementationVerifier)
LIMITS = [
    {"quantity": "latency", "comparison": "<=", "value": 2.0},
    {"quantity": "parameters", "comparison": "<=", "value": 99},
]


class SmallDelivery:
    """What the actors upstream of the delivery make of a table of dishes, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        lines = dishes().to_csv(index=False).splitlines()
        self.shop = Shop(folder, lines, ("linear",), target="grade", constraints=LIMITS)
        for step in STEPS:
            self.shop.made(step)
        self.sandbox, self.store = self.shop.sandbox, self.shop.store

    @property
    def input(self) -> Any:
        return self.shop.input(Deployer)

    def deployer(self) -> Deployer:
        return Deployer(self.sandbox, self.store, self.folder / "delivered")

    @cached_property
    def delivery(self) -> Delivery:
        """The package, delivered."""
        attempt = self.deployer().run(self.input, self.context("deployer"))
        assert attempt.output is not None, attempt.violations
        return attempt.output

    def context(self, actor: str) -> Context:
        return self.shop.context(actor=actor)


@cache
def small_delivery() -> SmallDelivery:
    """The one of this test session."""
    folder = Path(tempfile.mkdtemp(prefix="palmette-small-delivery-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return SmallDelivery(folder)


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
