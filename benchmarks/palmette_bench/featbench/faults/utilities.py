"""Faults of the utility retriever."""

import re

from palmette.features.artefacts import Utilities
from palmette_bench.featbench.faults.kind import Faulted, FaultKind, FaultSite, anywhere

REFUSED = frozenset({"utility-failed"})
DOWNSTREAM = frozenset(
    {"script-failed", "sample-mismatch", "output-schema", "schema", "golden", "differential", "crash"}
)


def _changed(utilities: Utilities, index: int, **changes: str) -> Utilities:
    chosen = list(utilities.chosen)
    chosen[index] = chosen[index].model_copy(update=changes)
    return utilities.model_copy(update={"chosen": tuple(chosen)})


def _first(utilities: Utilities, pattern: str) -> int | None:
    """Index of the first utility that is called in a certain way."""
    return next((index for index, one in enumerate(utilities.chosen) if re.search(pattern, one.call)), None)


def invented(utilities: Utilities) -> Faulted | None:
    """A function that the repository does not have."""
    index = _first(utilities, r"\w\(")
    if index is None:
        return None
    one = utilities.chosen[index]
    name = f"{one.name}_safe"
    return Faulted(_changed(utilities, index, name=name, call=one.call.replace(f"{one.name}(", f"{name}(", 1)), (name,))


def swapped_arguments(utilities: Utilities) -> Faulted | None:
    """A function that is called with its arguments in the wrong order."""
    index = _first(utilities, r"\(\{\w+\}, \{\w+\}")
    if index is None:
        return None
    one = utilities.chosen[index]
    call = re.sub(r"\(\{(\w+)\}, \{(\w+)\}", r"({\2}, {\1}", one.call, count=1)
    return Faulted(_changed(utilities, index, call=call), (one.name,))


def exchanged(utilities: Utilities) -> Faulted | None:
    """Two functions stand in each other's place."""
    if len(utilities.chosen) < 2:
        return None
    first, last = utilities.chosen[0], utilities.chosen[-1]
    names = {"name": first.name, "module": first.module, "call": first.call}
    return Faulted(_changed(utilities, len(utilities.chosen) - 1, **names), (first.name, last.name))


def unfit(utilities: Utilities) -> Faulted | None:
    """A function of the repository that was rejected, because it does something else."""
    for one in utilities.rejected:
        index = next((at for at, other in enumerate(utilities.chosen) if other.need == one.need), None)
        if index is not None and "." not in one.name:
            old = utilities.chosen[index]
            call = old.call.replace(f"{old.name}(", f"{one.name}(", 1)
            return Faulted(_changed(utilities, index, name=one.name, module=one.module, call=call), (one.name,))
    return None


def single_precision(utilities: Utilities, site: FaultSite) -> Faulted | None:
    """A quotient with the precision of a float, which small inputs do not show."""
    index = next((at for at, one in enumerate(utilities.chosen) if one.need == "divide"), None)
    if index is None:
        return None
    changed = _changed(utilities, index, call=f'{utilities.chosen[index].call}.cast("float")')
    return Faulted(changed) if site.passes(changed) else None


KINDS = (
    FaultKind("invented function", "utils_retriever", False, REFUSED, anywhere(invented)),
    FaultKind("arguments swapped", "utils_retriever", False, REFUSED, anywhere(swapped_arguments)),
    FaultKind("functions exchanged", "utils_retriever", False, REFUSED, anywhere(exchanged)),
    FaultKind("a function that does something else", "utils_retriever", False, REFUSED, anywhere(unfit)),
    FaultKind("quotient of single precision", "utils_retriever", True, DOWNSTREAM, single_precision),
)
