"""Skeletons for repositories of different styles, and what the criterion refuses."""

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from palmette.engine.actor import Context, TextFile, Violation
from palmette.features.actors.code_template_generator.actor import CodeTemplateGenerator
from palmette.features.artefacts import Config, RunRequest, Template, Utilities
from palmette.features.spec.run import Run
from palmette.features.spec.view import View

CLASSES = {
    "flat": "common:JobSettings",
    "layered": "offers.config:FeatureViewConfig",
    "folders": "risk.settings:Settings",
}
EXPECTED = {
    "flat": (
        "jobs/feat_user_offers.py", '"""Feature job: user_offers\n\nOwner: growth\n"""',
        {"fetch": ["spark", "settings"], "compute": ["redemptions", "users", "cutoff"], "store": ["result", "settings"],
         "main": []}),
    "layered": (
        "src/offers/features/user_offers.py",
        '"""Redemptions of a user.\n\nGrain: one row per `user_id`.\nSources: redemptions, users.\n"""',
        {"load_sources": ["spark", "config"], "build_features": ["sources", "as_of"],
         "write_output": ["features", "config"], "main": ["argv"]}),
    "folders": (
        "views/user_offers/job.py", '"""Redemptions of a user."""',
        {"load_user_offers": ["spark", "cfg"], "build_user_offers": ["tables", "as_of"], "main": ["cfg", "run_date"]}),
    "empty": (
        "features/user_offers.py",
        '"""Redemptions of a user.\n\nGrain: one row per `user_id`.\nSources: redemptions, users.\nCut-off: every row:',
        {"load_tables": ["spark", "config"], "build_features": ["tables", "as_of"],
         "write_features": ["features", "config"], "main": ["argv"]}),
    "untyped": (
        "features/user_offers_feature.py",
        '"""Redemptions of a user.\n\nGrain: one row per `user_id`.\nSources: redemptions, users.\nCut-off: every row:',
        {"read_inputs": ["spark", "conf"], "make_features": ["tables", "run_date"], "save": ["df", "conf"],
         "main": ["argv"]}),
}  # fmt: skip


@pytest.fixture
def generate(
    repository: Callable[[str], Path], run_spec: Run, request_artefact: RunRequest, tmp_path: Path
) -> Callable[..., tuple[CodeTemplateGenerator, object, Template, Context]]:
    def run(name: str, view: View, utilities: Utilities | None = None):
        config = Config(file=TextFile(path="c.yaml", text=""), class_name=CLASSES.get(name, ""), accessors={})
        actor = CodeTemplateGenerator(view, run_spec, repository(name))
        given = actor.Input(request=request_artefact, config=config, utilities=utilities)
        context = Context(actor.name, tmp_path)
        output = actor.run(given, context).output
        assert output is not None
        return actor, given, output, context

    return run


def test_a_class_that_no_neighbour_shows_is_the_type_of_configurations(
    generate: Callable, user_offers: Callable[..., View], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CLASSES, "empty", "libs.config:JobConfig")
    _, _, output, _ = generate("empty", user_offers())
    assert "def write_features(features: DataFrame, config: JobConfig) -> None:" in output.file.text
    assert "from libs.config import JobConfig" in output.file.text


@pytest.mark.parametrize("name", EXPECTED)
def test_skeletons(name: str, generate: Callable, user_offers: Callable[..., View]) -> None:
    actor, given, output, context = generate(name, user_offers())
    path, docstring, functions = EXPECTED[name]
    tree = ast.parse(output.file.text)
    assert output.file.path == path
    assert output.file.text.startswith(docstring)
    assert {n.name: [a.arg for a in n.args.args] for n in tree.body if isinstance(n, ast.FunctionDef)} == functions
    assert actor.check(given, output, context).ok


@pytest.mark.parametrize(("name", "head"), [
    ("empty", "def build_features(tables: dict[str, DataFrame]) -> DataFrame:"),
    ("layered", "def build_features(sources: dict[str, DataFrame], as_of: datetime) -> DataFrame:"),
])  # fmt: skip
def test_a_spine_carries_the_cutoff(name: str, head: str, generate: Callable, user_offers: Callable[..., View]) -> None:
    """The team's own entry point passes one to every view."""
    view = user_offers(time={"cutoff": "spine"}, spine={"table": "redemptions", "cutoff": "redeemed_at"})
    assert head in generate(name, view)[2].file.text


def test_nothing_but_a_feature_script_is_overwritten(
    generate: Callable, user_offers: Callable[..., View], repository: Callable[[str], Path]
) -> None:
    for view_name, codes in (("transforms", ["path-taken"]), ("user_offers", [])):
        actor, given, output, context = generate("layered", user_offers(feature_view=view_name))
        place = actor.root / output.file.path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("RATE = 3\n" if codes else output.file.text, encoding="utf-8")
        again = type(actor)(actor.view, actor.run_spec, actor.root)
        assert [violation.code for violation in again.check(given, output, context).violations] == codes


def test_proven_utilities_are_imported(generate: Callable, user_offers: Callable[..., View]) -> None:
    chosen = [{"need": "divide", "name": "safe_divide", "module": "offers.transforms", "call": "safe_divide()"}]
    actor, given, output, context = generate("layered", user_offers(), Utilities.model_validate({"chosen": chosen}))
    assert "from offers.transforms import safe_divide\n" in output.file.text
    assert actor.check(given, output, context).ok


@pytest.mark.parametrize(("old", "new", "code"), [
    ("def build_features(", "def build(", "missing-function"),
    ("features: DataFrame, config", "config", "missing-function"),
    ("from offers.config import FeatureViewConfig", "from offers.config import Invented", "unresolved-import"),
    ("from offers.config import FeatureViewConfig", "from nowhere import x", "unresolved-import"),
    ("def main(", "def main((", "template-syntax"),
])  # fmt: skip
def test_the_criterion_refuses(
    old: str,
    new: str,
    code: str,
    generate: Callable,
    user_offers: Callable[..., View],
) -> None:
    actor, given, output, context = generate("layered", user_offers())
    assert old in output.file.text
    broken = output.model_copy(
        update={"file": TextFile(path=output.file.path, text=output.file.text.replace(old, new))}
    )
    verdict = actor.check(given, broken, context)
    assert code in [violation.code for violation in verdict.violations]
    assert any(actor.implicated(violation, broken) for violation in verdict.violations)


def test_a_script_elsewhere_is_refused(generate: Callable, user_offers: Callable[..., View]) -> None:
    actor, given, output, context = generate("layered", user_offers())
    moved = output.model_copy(update={"file": TextFile(path="../outside.py", text=output.file.text)})
    assert [v.code for v in actor.check(given, moved, context).violations] == ["path-not-allowed"]


def test_other_failures_do_not_implicate_it(generate: Callable, user_offers: Callable[..., View]) -> None:
    actor, _, output, _ = generate("layered", user_offers())
    assert actor.implicated(Violation(code="oracle-mismatch", message="amount_7d is 3"), output) is None
    bound = Violation(code="script-failed", message="TypeError: build_features() missing 1 required argument")
    assert actor.implicated(bound, output) is not None


@pytest.mark.parametrize(("changed", "error"), [
    ({"fixture": "session"}, "E       fixture 'session' not found"),
    ({"package": "offers.views"}, "E   ModuleNotFoundError: No module named 'offers.views'"),
    ({"package": "offers.views"}, "E   ModuleNotFoundError: No module named 'offers.views.user_offers'"),
])  # fmt: skip
def test_what_it_misread_of_the_repository_is_its_own(
    changed: dict[str, str], error: str, generate: Callable, user_offers: Callable[..., View]
) -> None:
    actor, _, output, _ = generate("layered", user_offers())
    wrong = output.model_copy(update={"conventions": output.conventions.model_copy(update=changed)})
    found = Violation(code="tests-not-run", message="The tests cannot be run.", evidence=error)
    assert "The repository has no" in actor.implicated(found, wrong)
    assert actor.implicated(found, output) is None, "it says nothing of the kind"


def test_a_description_cannot_end_the_docstring(generate: Callable, user_offers: Callable[..., View]) -> None:
    view = user_offers(description='Ends """ here\\ and goes on, \n import os')
    tree = ast.parse(generate("layered", view)[2].file.text)
    assert isinstance(tree.body[0], ast.Expr) and "import os" not in map(ast.unparse, tree.body)
