"""Faults of the code generator: the seeded bugs that a strict criterion must catch. None is latent."""

from palmette.features.artefacts import Script
from palmette.features.checks import OWNERS
from palmette.features.script_tree import parse
from palmette_bench.bugs import KINDS as BUGS
from palmette_bench.bugs import Bug
from palmette_bench.featbench.faults.kind import Faulted, FaultKind, FaultSite, Mutate, with_text

OWN = frozenset(code for code, owner in OWNERS.items() if owner == "code_generator")
CHOSEN = (
    "no upper bound",
    "<= at the cut-off",
    "window one unit longer",
    "rows instead of range",
    "availability ignored",
    "inner join",
    "fan-out join",
    "spine rows merged",
    "null instead of default",
    "wrong default",
    "similarly named column",
    "condition dropped",
    "wrong aggregate",
    "features swapped",
    "missing column",
    "other type",
)
"""Of the bugs that the benchmark of the checks seeds, those that people make."""


def _with(bug: Bug) -> Mutate:
    def mutate(script: Script, site: FaultSite) -> Faulted | None:
        changed = bug.inject(parse(script.file.text, site.view, script.entry))
        if changed is None or changed == script.file.text:
            return None
        return Faulted(with_text(script, changed))

    mutate.__doc__ = f"{bug.family.capitalize()}."
    return mutate


KINDS = tuple(FaultKind(bug.name, "code_generator", False, OWN, _with(bug)) for bug in BUGS if bug.name in CHOSEN)
