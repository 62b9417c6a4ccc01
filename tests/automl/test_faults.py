"""Every failure of an AutoML run has an owner, or ends the run."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("lightgbm", reason="the packages of AutoML are not installed")

import palmette.automl
from palmette.automl.artefacts import Store
from palmette.automl.candidates import OwnCode
from palmette.automl.own_code import PACKAGE_FAILURES
from palmette.engine import Actor, Violation, build_actors, load_topology
from palmette.engine.topology import Topology
from palmette.engine.wiring import Wiring
from palmette.sandbox import Sandbox

ROOT = Path(palmette.automl.__file__).parent
TOPOLOGIES = ROOT / "topologies"
EMITTERS = {
    "search": "assembler",
    "own_code.py": "preprocessing_coder", "endpoint": "implementation_verifier", "planning": "plan_writer",
}  # fmt: skip
"""The actor whose check emits the codes of a module that is not an actor."""
FILES = {"preprocessing_coder": "own_features.py", "modeling_coder": "own_traditional.py"}
OWNED = {
    "contract-unfulfilled": "preprocessing_coder", "contract-misused": "modeling_coder",
    "reaches-outside": "preprocessing_coder", "model-missing": "assembler", "plan-rejected": "plan_writer",
    "constraint-missed": "plan_writer", "score-missed": "plan_writer",
}  # fmt: skip
"""The actor that answers for a code; for all others, the one that found it."""
ENDS = {
    "learner-unavailable": "a learner that is required is not installed",
    "search-failed": "no candidate finished, though all are of registered learners",
    "no-candidate": "the same",
    "trials-unreadable": "reported within the candidates that failed",
    "outputs-unreadable": "the same",
    "outputs-rows": "the same",
    "outputs-values": "the same",
    "request_verifier": "a model answers wrongly as often as it may: nothing else exists yet",
    "delivery-differs": "somebody changes the delivered folder while it is checked",
    "delivery-missing": "the same",
    "delivery-unmeasured": "the same",
}


def codes(path: Path) -> Iterator[str]:
    """The codes of violations that a module makes, as far as they stand in it."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        made = ast.unparse(node.func)
        given = [keyword.value for keyword in node.keywords if made == "Violation" and keyword.arg == "code"]
        given += node.args[:1] if made in ("_violation", "_CheckFailed") else []
        yield from (value.value for value in given if isinstance(value, ast.Constant))


def emitted() -> set[tuple[str, str]]:
    """Actor and code of everything that the check of an actor can find."""
    found = set()
    for path in ROOT.rglob("*.py"):
        place = path.relative_to(ROOT).as_posix()
        of = next((actor for begin, actor in EMITTERS.items() if place.startswith(begin)), "")
        actor = of or (place.split("/")[1] if place.startswith("actors/") else "")
        found |= {(actor, code) for code in codes(path)}
    return found


def blank(actor: Actor) -> Any:
    """An output of an actor with no more in it than what is asked about fault."""
    path = "own_features.py" if actor.name == "pipeline_coder" else FILES.get(actor.name)
    known = {"modules": (OwnCode(path=path, text="", classes=()),) if path else (), "plans": (), "track": "traditional"}
    return actor.Output.model_construct(**{name: known.get(name) for name in actor.Output.model_fields})


def opened(topology: Topology, folder: Path) -> tuple[dict[str, Actor], Wiring]:
    services = {"sandbox": Sandbox(), "store": Store(folder), "delivered": folder, "seed": 0}
    actors = build_actors(topology, services)
    return actors, Wiring(topology, actors)


def test_every_code_goes_to_the_actor_that_can_mend_it(tmp_path: Path) -> None:
    actors, wiring = opened(load_topology(TOPOLOGIES / "automl.yaml").value, tmp_path)
    found = emitted()
    assert {word for one in found for word in one} > {*ENDS, *PACKAGE_FAILURES} - {"request_verifier"}
    assert len(found) > 20
    for finder, code in sorted(found):
        assert finder in actors, f"{code} is found by nobody who is known"
        owner = "" if code in ENDS or finder in ENDS else OWNED.get(code, finder)
        owners = FILES if code in PACKAGE_FAILURES else {owner: FILES.get(owner, "")}
        for expected, subject in owners.items():
            violation = Violation(code=code, message="?", subject=subject)
            asked = (*wiring.lineage[finder], finder)
            blamed = [name for name in asked if actors[name].implicated(violation, blank(actors[name]))]
            assert blamed[:1] == ([expected] if expected else []), f"{code}, found by {finder}: {blamed}"


@pytest.mark.parametrize("path", sorted(TOPOLOGIES.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_writers_of_own_code_can_be_gone_back_to(path: Path, tmp_path: Path) -> None:
    topology = load_topology(path).value
    if "deployer" not in topology.actors:
        pytest.skip("nothing is delivered")
    actors, wiring = opened(topology, tmp_path)
    nobody = Violation(code="predictions-differ", message="?")
    coders = [name for name in wiring.lineage["deployer"] if actors[name].implicated(nobody, blank(actors[name]))]
    assert coders in (["preprocessing_coder", "modeling_coder"], ["pipeline_coder"])
    assert coders[0] in topology.start
