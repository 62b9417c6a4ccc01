"""The actor `code_template_generator`, which writes a skeleton with all functions that the team's scripts define."""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path, PurePosixPath

from palmette.documents import Model
from palmette.engine.actor import Attempt, Context, Measurement, TextFile, Verdict, Violation
from palmette.features import prompt_context
from palmette.features.actors.code_template_generator.offline import write_template
from palmette.features.adoption.query import why_no_query
from palmette.features.artefacts import Config, Conventions, RunRequest, Template, Utilities
from palmette.features.harness.binding import functions_of
from palmette.features.repository import Checkout, find_neighbours, read_conventions
from palmette.features.signature import declared, parameters_of, signature
from palmette.features.spec import Run, View
from palmette.llm import NEEDED, OFFLINE, Agent, Answer, Models, Python, Section, section


class TemplateInput(Model):
    request: RunRequest
    config: Config
    utilities: Utilities | None = None


class TemplateAnswer(Answer):
    template: Python
    """The whole file of the skeleton."""


class CodeTemplateGenerator(Agent):
    """Reads the conventions and writes the skeleton that they require."""

    name = "code_template_generator"
    description = "Writes the script's skeleton: the team's predefined functions, docstrings and imports."
    produces = "template"
    Input = TemplateInput
    Output = Template
    Answer = TemplateAnswer

    def __init__(self, view: View, run_spec: Run, repository_root: Path, models: Models = OFFLINE) -> None:
        super().__init__(models)
        self.view, self.run_spec, self.root = view, run_spec, repository_root

    @cached_property
    def checkout(self) -> Checkout:
        """Cached, because the repository does not change during a run."""
        return Checkout(self.root)

    @cached_property
    def conventions(self) -> Conventions:
        return read_conventions(self.root, self.run_spec, self.view, self.checkout, why_no_query)

    def offline(self, input: TemplateInput, context: Context) -> Attempt[Template]:
        conventions = self.conventions
        context.progress(f"{len(conventions.functions)} predefined functions, {len(conventions.rules)} rules")
        text = write_template(self.view, conventions, input.config, input.utilities, find_neighbours(self.checkout))
        return Attempt(self._template(text))

    def is_settled(self, input: TemplateInput, context: Context) -> bool:
        """Whether nothing speaks against the rules' skeleton; the script's writer follows the README's prose."""
        by_rules = bool(self.conventions.query_path) or not self.conventions.has_builder
        return by_rules or not (context.attempts or context.instruction)

    def sections(self, input: TemplateInput, context: Context) -> tuple[Section, ...]:
        conventions = self.conventions
        return (
            section("view", _view_facts(self.view, conventions, input.config), rank=NEEDED),
            section("functions", "\n".join(_functions(self.view, conventions)), rank=NEEDED, language="python"),
            prompt_context.utilities(input.utilities, lambda one: f"from {one.module} import {one.name}"),
            prompt_context.readme(self.checkout, self.run_spec.repository.readme, "scripts"),
            prompt_context.neighbour(self.checkout, self.view, outlined=True),
        )

    def read(self, answer: TemplateAnswer, input: TemplateInput, context: Context) -> Attempt[Template]:
        """The model's skeleton at its path. Conventions stay as the rules read them, as evidence for later steps."""
        return Attempt(self._template(f"{answer.template.strip()}\n"), answer.reason, answer.fix)

    def _template(self, text: str) -> Template:
        path = self.conventions.script_path.replace("{view}", self.view.name)
        return Template(file=TextFile(path=path, text=text), conventions=self.conventions)

    def check(self, input: TemplateInput, output: Template, context: Context) -> Verdict:
        """The skeleton compiles, has all predefined functions, lies where it may, and its imports resolve."""
        path = output.file.path
        try:
            tree = ast.parse("" if output.conventions.is_query else output.file.text)
        except SyntaxError as error:
            message, evidence = f"{path}:{error.lineno} is not valid Python: {error.msg}.", output.file.text[:3000]
            return Verdict.of([Violation(code="template-syntax", subject=path, evidence=evidence, message=message)])
        missing = _missing_functions(tree, output, self.view)
        imports = _unresolved(tree, path, self.checkout)
        misplaced = [*_misplaced(output, self.view), *_path_conflicts(path, self.checkout)]
        names = ", ".join(shape.name for shape in output.conventions.functions if output.conventions.has_builder)
        detail = f"{len(_imported(tree))} names resolved"
        return Verdict.of(
            [*missing, *imports, *misplaced],
            [
                Measurement(name="predefined functions", status="failed" if missing else "passed", detail=names),
                Measurement(name="imports", status="failed" if imports else "passed", detail=detail),
            ],
        )

    def implicated(self, violation: Violation, output: Template) -> str | None:
        """Responsible for functions that are missing, misbound or misplaced."""
        own = {
            "missing-function": f"def {violation.subject}(" not in output.file.text or " has (" in violation.message,
            "unresolved-import": violation.subject.rpartition(".")[2] in output.file.text,
            "path-not-allowed": violation.subject == output.file.path,
            "template-syntax": violation.subject == output.file.path,
        }
        if own.get(violation.code, False):
            return f"The skeleton {output.file.path} was wrong: {violation.message}"
        text = f"{violation.message}\n{violation.evidence}"
        names = [shape.name for shape in output.conventions.functions]
        if (
            "UnboundParameter" in text
            or "MissingFunction" in text
            or any(f"{name}() missing" in text or f"{name}() got an unexpected" in text for name in names)
        ):
            return f"A predefined function has other parameters than its callers pass: {violation.message}"
        wrong = [what for pattern, what in _absent_conventions(output.conventions) if re.search(pattern, text)]
        return f"The repository has no {wrong[0]}: {violation.message}" if wrong else None


def _absent_conventions(conventions: Conventions) -> Iterator[tuple[str, str]]:
    """Pairs of an error pattern and something that the team's scripts do not have."""
    if conventions.fixture:
        yield rf"fixture '{re.escape(conventions.fixture)}' not found", f"fixture {conventions.fixture!r}"
    if conventions.package:
        yield rf"No module named '{re.escape(conventions.package)}['.]", f"package {conventions.package!r}"


def _view_facts(view: View, conventions: Conventions, config: Config) -> str:
    """Facts about the view, for its docstring, and about the script."""
    known = {
        "feature view": view.name,
        "description": view.description,
        "owner": view.owner,
        "entities": ", ".join(entity.name for entity in view.spec.entities),
        "a row per": ", ".join(view.grain),
        "tables": ", ".join(view.tables),
        "features": ", ".join(feature.name for feature in view.public),
        "output": view.table_name,
        "line length": str(conventions.line_length),
        "options of main": f"{conventions.config_option}, {conventions.as_of_option}",
        "class of the configuration": config.class_name,
    }
    return prompt_context.facts(known)


def _functions(view: View, conventions: Conventions) -> Iterator[str]:
    """The declarations of the predefined functions, in file order."""
    for shape in conventions.functions:
        returns = f" -> {shape.returns}" if shape.returns else ""
        parameters = ", ".join(declared(view, conventions, shape))
        yield f"def {shape.name}({parameters}){returns}: ...  # {shape.role}"


def _missing_functions(tree: ast.Module, output: Template, view: View) -> list[Violation]:
    functions = {node.name: node for node in functions_of(tree).values()}
    defined = {name: [one.name for one in parameters_of(node)] for name, node in functions.items()}
    found = []
    for shape in output.conventions.functions if output.conventions.has_builder else ():
        wanted = [bound.name for bound in signature(view, output.conventions, shape.role)]
        if defined.get(shape.name) != wanted:
            has = f"has ({', '.join(defined[shape.name])})" if shape.name in defined else "is not there"
            message = f"{output.file.path}: function {shape.name}({', '.join(wanted)}) {has}."
            found.append(Violation(code="missing-function", subject=shape.name, message=message))
    return found


def _misplaced(output: Template, view: View) -> list[Violation]:
    path = PurePosixPath(output.file.path)
    expected = output.conventions.script_path.replace("{view}", view.name)
    if not path.is_absolute() and ".." not in path.parts and str(path) == expected:
        return []
    message = f"The script is at {str(path)!r}; the conventions place it at {expected!r}."
    return [Violation(code="path-not-allowed", subject=str(path), message=message)]


def _path_conflicts(path: str, checkout: Checkout) -> list[Violation]:
    """Rejects a path that is already used, unless by the view's own script."""
    if path not in checkout.paths or path in {neighbour.module.path for neighbour in find_neighbours(checkout)}:
        return []
    message = f"{path} is there already and is not a feature script; rename `feature_view` in the specification."
    return [Violation(code="path-taken", subject=path, message=message)]


def _imported(tree: ast.Module) -> list[str]:
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    return names + [
        f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and not node.level
        for alias in node.names
    ]


def _unresolved(tree: ast.Module, path: str, checkout: Checkout) -> list[Violation]:
    """Imports that are not from the standard library, the repository, or packages that the repository imports."""
    used = {name.split(".")[0] for module in checkout.modules for name in module.imports.values()}
    known = {*sys.stdlib_module_names, "pyspark", *(used - checkout.packages)}
    missing = "which the repository does not have"
    return [
        Violation(code="unresolved-import", subject=name, message=f"{path} imports {name!r}, {missing}.")
        for name in _imported(tree)
        if name.split(".")[0] not in known and not checkout.resolves(name)
    ]
