"""Faults of the template generator: the skeleton, and the conventions that go with it."""

import re
from typing import Any

from palmette.features.artefacts import Template
from palmette.features.signature import shape_of
from palmette_bench.featbench.faults.kind import Faulted, FaultKind, anywhere, with_text

REFUSED = frozenset({"missing-function", "unresolved-import", "template-syntax", "path-not-allowed"})
DOWNSTREAM = frozenset({"tests-not-run", "test-failed", "actor-crashed", "script-failed"})


def _conventions(template: Template, **changes: Any) -> Template:
    return template.model_copy(update={"conventions": template.conventions.model_copy(update=changes)})


def function_missing(template: Template) -> Faulted | None:
    """The skeleton lacks the function that writes."""
    name = shape_of(template.conventions, "write").name
    text = re.sub(rf"def {name}\(.*?raise NotImplementedError\n+", "", template.file.text, flags=re.DOTALL)
    return Faulted(with_text(template, text), (name,)) if text != template.file.text else None


def parameter_renamed(template: Template) -> Faulted | None:
    """A predefined function takes its first parameter by another name."""
    name = shape_of(template.conventions, "build").name
    text = re.sub(rf"(def {name}\(\s*)(\w+)", r"\1\2_", template.file.text, count=1)
    return Faulted(with_text(template, text), (name,)) if text != template.file.text else None


def import_of_nothing(template: Template) -> Faulted | None:
    """An import of a module that the repository does not have."""
    package = (template.conventions.package or "team").split(".")[0]
    line = f"from {package}.common.helpers import prepared\n"
    text = re.sub(r"^(?=(from|import) (?!__future__))", line, template.file.text, count=1, flags=re.MULTILINE)
    return Faulted(with_text(template, text), ("common.helpers",)) if text != template.file.text else None


def broken_syntax(template: Template) -> Faulted | None:
    """A colon is missing."""
    text = re.sub(r"(def \w+\([^:]*?\)[^:\n]*):\n", r"\1\n", template.file.text, count=1)
    text = text if text != template.file.text else template.file.text.replace("raise ", "raise raise ", 1)
    return Faulted(with_text(template, text))


def other_package(template: Template) -> Faulted | None:
    """The package that the tests should import the script from is another one."""
    package = template.conventions.package
    wrong = f"{package}_views" if package else "features"
    return Faulted(_conventions(template, package=wrong), (wrong,))


def other_fixture(template: Template) -> Faulted | None:
    """The team's fixture has another name."""
    fixture = template.conventions.fixture
    return Faulted(_conventions(template, fixture=f"{fixture}_context"), (f"{fixture}_context",)) if fixture else None


KINDS = (
    FaultKind("function missing", "code_template_generator", False, REFUSED, anywhere(function_missing)),
    FaultKind("parameter renamed", "code_template_generator", False, REFUSED, anywhere(parameter_renamed)),
    FaultKind("import of nothing", "code_template_generator", False, REFUSED, anywhere(import_of_nothing)),
    FaultKind("broken syntax", "code_template_generator", False, REFUSED, anywhere(broken_syntax)),
    FaultKind("wrong package", "code_template_generator", True, DOWNSTREAM, anywhere(other_package)),
    FaultKind("wrong fixture", "code_template_generator", True, DOWNSTREAM, anywhere(other_fixture)),
)
