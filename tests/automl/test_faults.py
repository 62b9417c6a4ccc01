"""Every failure of an AutoML run has an owner, or ends the run; a project that fails at work is located."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("lightgbm", reason="the packages of AutoML are not installed")

from small_delivery import SmallDelivery, small_delivery

import palmette.automl
from palmette.automl.environment import TOPOLOGIES
from palmette.automl.faults import located
from palmette.automl.store import Store
from palmette.engine import Actor, TextFile, Violation, build_actors, load_topology
from palmette.engine.topology import Topology
from palmette.engine.wiring import Wiring
from palmette.sandbox import Sandbox

ROOT = Path(palmette.automl.__file__).parent
EMITTERS = {
    "actors/error_analyser": "assembler", "actors/debugger": "assembler", "actors/pipeline_coder": "pipeline_coder",
    "selection": "assembler", "modalities": "assembler", "endpoint": "deployer", "briefs.py": "preprocessing_coder",
}  # fmt: skip
"""Whose check emits the codes of what is no actor of its own."""
FILES = {"preprocessing_coder": "preprocess.py", "modeling_coder": "models/traditional.py"}
OWNED = {
    "contract-unfulfilled": "preprocessing_coder", "contract-misused": "modeling_coder",
    "syntax": "preprocessing_coder", "model-missing": "assembler", "member-missing": "assembler",
    "plan-rejected": "plan_writer", "constraint-missed": "plan_writer", "plan-empty": "plan_writer",
    "no-candidate": "modeling_coder", "target-missing": "requirement_parser",
}  # fmt: skip
"""Who answers for what another has found; for all other codes, that is whoever found it."""
AT_WORK = {
    "prediction-failed", "predictions-differ", "endpoint-unhealthy", "bad-request-accepted", "openapi-missing",
    "page-missing", "tests-failed", "imports-palmette", "unexpected-file",
}  # fmt: skip
"""Of these, it is whoever wrote the file that is named; where none is, one coder after the other."""
ENDS = {
    "no-track": "no track can be had on this machine",
    "algorithm-unavailable": "what was asked for is not installed",
    "request_verifier": "whatever a model wrongly answers about a request, as often as it may: nothing else exists yet",
    "delivery-differs": "somebody changes the delivered folder while it is looked at",
    "delivery-missing": "the same",
    "delivery-unmeasured": "the same",
    "not-changed": "a repair is given up, and its failure is the coder's",
    "analysis-misplaced": "the same",
    "trials-unreadable": "told within no-candidate",
    "out-of-fold-columns": "the same",
    "out-of-fold-unreadable": "the same",
    "degenerate": "the same",
}


def codes(path: Path) -> Iterator[str]:
    """The codes of violations that a module makes, as far as they stand in it."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        made = ast.unparse(node.func)
        given = [keyword.value for keyword in node.keywords if made == "Violation" and keyword.arg == "code"]
        given += node.args[:1] if made in ("_violation", "_Wrong") else []
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
    files = {name: (TextFile(path=path, text=""),) for name, path in FILES.items()}
    known = {"files": files.get(actor.name, ()), "plans": (), "track": "traditional"}
    return actor.Output.model_construct(**{name: known.get(name) for name in actor.Output.model_fields})


def opened(topology: Topology, folder: Path) -> tuple[dict[str, Actor], Wiring]:
    services = {"sandbox": Sandbox(), "store": Store(folder), "delivered": folder, "seed": 0}
    actors = build_actors(topology, services)
    return actors, Wiring(topology, actors)


def test_every_code_goes_to_the_one_who_can_mend_it(tmp_path: Path) -> None:
    actors, wiring = opened(load_topology(TOPOLOGIES / "automl.yaml").value, tmp_path)
    found = emitted()
    assert {word for one in found for word in one} > {*ENDS, *AT_WORK} and len(found) > 70
    for finder, code in sorted(found):
        assert finder in actors, f"{code} is found by nobody who is known"
        owner = "" if code in ENDS or finder in ENDS else OWNED.get(code, finder)
        owners = FILES if code in AT_WORK else {owner: FILES.get(owner, "")}
        for expected, subject in owners.items():
            violation = Violation(code=code, message="?", subject=subject)
            asked = (*wiring.lineage[finder], finder)
            blamed = [name for name in asked if actors[name].implicated(violation, blank(actors[name]))]
            assert blamed[:1] == ([expected] if expected else []), f"{code}, found by {finder}: {blamed}"


@pytest.mark.parametrize("path", sorted(TOPOLOGIES.glob("*.yaml")), ids=lambda path: path.stem)
def test_who_wrote_the_code_can_be_gone_back_to_from_the_delivery(path: Path, tmp_path: Path) -> None:
    topology = load_topology(path).value
    actors, wiring = opened(topology, tmp_path)
    nobody = Violation(code="predictions-differ", message="?")
    coders = [name for name in wiring.lineage["deployer"] if actors[name].implicated(nobody, blank(actors[name]))]
    assert coders in (["preprocessing_coder", "modeling_coder"], ["pipeline_coder"])
    assert coders[0] in topology.start


TRACE = """Traceback (most recent call last):
  File "{folder}/predict.py", line 70, in <module>
  File "{folder}/models/traditional.py", line 12, in predict
  File "{folder}/preprocess.py", line 40, in features
{error}
"""
PYTEST = "tests/test_project.py:12: in test_rows\nmodels/traditional.py:9: in predict\nE   ValueError: no\n"


@pytest.mark.parametrize(
    ("foreign", "evidence", "subject"),
    [
        ((), TRACE, "predict.py"),
        (("preprocess.py",), "", "preprocess.py"),
        (("preprocess.py", "models/traditional.py"), "", ""),
        (("preprocess.py", "models/traditional.py"), TRACE, "preprocess.py"),
        (("models/traditional.py",), TRACE, "models/traditional.py"),
        (("preprocess.py", "models/traditional.py"), PYTEST, "models/traditional.py"),
        (("preprocess.py", "models/traditional.py"), "ContractError: features: 'a' is text", "preprocess.py"),
        (("predict.py",), "", "predict.py"),
    ],
)
def test_a_failure_is_from_the_file_that_the_rules_did_not_write(
    foreign: tuple[str, ...], evidence: str, subject: str, tmp_path: Path
) -> None:
    small: SmallDelivery = small_delivery()
    files = [
        TextFile(path=one.path, text=f"{one.text}\n# mine") if one.path in foreign else one
        for one in small.input.assembly.files
    ]
    made = small.input.assembly.model_copy(update={"files": tuple(files)})
    text = evidence.format(folder=tmp_path.resolve(), error="ValueError: no") if evidence is TRACE else evidence
    failed = Violation(code="prediction-failed", message="?", evidence=text, subject="predict.py")
    (found,) = located([failed], tmp_path, made, small.input.blueprint)
    assert found.subject == subject and str(tmp_path) not in found.evidence
