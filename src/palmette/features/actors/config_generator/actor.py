"""The actor `config_generator`, which writes a configuration that the team's own class accepts."""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from palmette.documents import Model, load_plain
from palmette.engine.actor import TERMINATE, Attempt, Context, Measurement, TextFile, Verdict, Violation
from palmette.features import prompt_context
from palmette.features.actors.config_generator.facts import NAME, FactRecord, facts_of
from palmette.features.actors.config_generator.filling import FilledValue, MissingField, fill
from palmette.features.actors.config_generator.layout import write_document
from palmette.features.actors.config_generator.locating import keyed_facts, locate, same
from palmette.features.actors.config_generator.neighbour_configs import NeighbourConfigs
from palmette.features.actors.config_generator.schema import TeamSchema
from palmette.features.actors.config_generator.team import (
    TeamAnswer,
    TeamCode,
    find_schema,
    neighbouring_configs,
    plain_schema,
)
from palmette.features.artefacts import Config, RunRequest
from palmette.features.repository import Checkout, read_conventions
from palmette.features.spec import Run, View
from palmette.features.team_document import document_text, format_of, parse_text
from palmette.llm import NEEDED, OFFLINE, Agent, Answer, AnswerError, Models, Section, Yaml, section
from palmette.sandbox import Sandbox

_NOT_FOUND = re.compile(
    r"PATH_NOT_FOUND|TABLE_OR_VIEW_NOT_FOUND|FileNotFoundError|KeyError|no attribute|ValidationError"
)


_UPWARDS = re.compile(r"^(\.{0,2}/)+")
_TESTS = re.compile(r"^tests:.*\n?(?:(?:[ \t#-].*)?\n|[ \t#-].*\Z)*", re.MULTILINE)
NEIGHBOURS = 2
"""Number of other team configurations shown to a model."""


class ConfigInput(Model):
    request: RunRequest


class ConfigAnswer(Answer):
    config: Yaml
    """The whole configuration file."""


class _Team(NamedTuple):
    """The team's schema and style of configurations."""

    schema: TeamSchema
    files: tuple[TextFile, ...]
    path: str
    width: int


class ConfigGenerator(Agent):
    """Fills the team's configuration class with facts about the view."""

    name = "config_generator"
    description = "Writes the view's YAML configuration and has the team's own class parse it."
    produces = "config"
    Input = ConfigInput
    Output = Config
    Answer = ConfigAnswer

    def __init__(
        self, view: View, run_spec: Run, repository_root: Path, sandbox: Sandbox, models: Models = OFFLINE
    ) -> None:
        super().__init__(models)
        self.view, self.run_spec, self.root, self.sandbox = view, run_spec, repository_root, sandbox
        self._known_team: _Team | None = None
        """Cached, because the repository does not change during a run."""

    @cached_property
    def _facts(self) -> FactRecord:
        return facts_of(self.view, self.run_spec)

    @cached_property
    def _known_facts(self) -> dict[str, Any]:
        """By key: the facts that scripts read from a configuration."""
        return {fact.key: fact.value for fact in keyed_facts(self._facts)}

    def is_settled(self, input: ConfigInput, context: Context) -> bool:
        """Whether facts alone fill every field of the team's class."""
        team = None if context.attempts or context.evidence else self._team(context)[0]
        filled = self._fill(team, {}) if team is not None and team.schema.class_name else None
        return filled is not None and not filled.missing and not filled.learnt

    def offline(self, input: ConfigInput, context: Context) -> Attempt[Config]:
        team, failed = self._team(context)
        if team is None:
            return _hand_over("The team's configuration class cannot be read.", failed)
        refused = frozenset(v.subject for a in context.attempts for v in a.violations if v.code == "config-refused")
        if "" in refused:
            return _hand_over("The class refuses the values as a whole.", context.attempts[-1].violations)
        filled = self._fill(team, {}, refused)
        if filled.missing:
            filled = self._fill(team, _ask(filled.missing, team, self.view.name, context), refused)
        if filled.missing:
            return _hand_over("Required fields have no value.", tuple(_missing(item, team) for item in filled.missing))
        config = self._config(team, write_document(filled.value, team.path, team.files, team.width))
        if any(self.implicated(violation, config) for violation in context.evidence):
            return _hand_over("The rules write the same configuration again.", context.evidence)
        reason = f"The class refused {', '.join(sorted(refused))}." if refused else ""
        fix = "Left out or asked for what was refused." if refused else ""
        if filled.learnt:
            fix += f" Taken over from neighbouring configurations: {', '.join(filled.learnt)}."
        return Attempt(config, reason=reason, fix=fix.strip())

    def sections(self, input: ConfigInput, context: Context) -> tuple[Section, ...]:
        team, failed = self._team(context)
        if team is None:
            raise AnswerError("The team's configuration class cannot be read.", code=failed[0].code, violations=failed)
        checkout = Checkout(self.root)
        files = [f"# {file.path}\n{file.text}" for file in team.files[:NEIGHBOURS]]
        return (
            section("facts", *_shown_facts(self._known_facts, self.view, self.run_spec), rank=NEEDED),
            section("class", *_sources(team.schema, checkout), rank=NEEDED, language="python"),
            section("neighbours", *files, rank=1, language=format_of(team.path)),
            prompt_context.readme(checkout, self.run_spec.repository.readme, "config"),
            prompt_context.registry((self.view.tables[name] for name in sorted(self.view.tables)), used=()),
            section("specification", without_cases(input.request.fsc.text), rank=NEEDED, language="yaml"),
        )

    def read(self, answer: ConfigAnswer, input: ConfigInput, context: Context) -> Attempt[Config]:
        """Returns the model's file. JSON files may be answered in YAML."""
        team, _ = self._team(context)
        assert team is not None  # else there are no sections to answer
        try:
            document = parse_text(team.path, answer.config)
        except yaml.YAMLError:
            document = load_plain(answer.config)
        plain = format_of(team.path) == "yaml"
        text = f"{answer.config.strip()}\n" if plain else document_text(team.path, document)
        return Attempt(self._config(team, text), answer.reason, answer.fix)

    def _config(self, team: _Team, text: str) -> Config:
        """The file at its path, with the locations of the known facts."""
        placed = locate(team.schema, self._facts, parse_text(team.path, text))
        return Config(
            file=TextFile(path=team.path.replace("{view}", self.view.name), text=text),
            class_name=team.schema.class_name,
            built_by=team.schema.built_by,
            storage=self.run_spec.output.storage,
            accessors={key: spot.code for key, spot in sorted(placed.items())},
            places={key: spot.keys for key, spot in sorted(placed.items())},
        )

    def check(self, input: ConfigInput, output: Config, context: Context) -> Verdict:
        """The document parses into the team's class, and its accessors give the view's facts."""
        reply = TeamCode(self.sandbox, self.root, context.workspace).parse(output)
        if reply.failure:
            return Verdict.of([_team_failed(output.class_name, reply)])
        name = output.class_name or "a plain mapping"
        refused = [_refused(item, output) for item in reply.answer.get("errors", ())]
        if refused:
            return Verdict.of(refused)
        known = self._known_facts
        wrong = [*_wrong_facts(known, reply.answer["facts"], output), *self._absent_facts(output, context)]
        parsed = Measurement(name="team class", status="passed", detail=f"{output.file.path} parses into {name}")
        read = Measurement(
            name="accessors",
            status="failed" if wrong else "passed",
            detail=f"{len(output.accessors)} accessors evaluated",
        )
        return Verdict.of(wrong, [parsed, read])

    def implicated(self, violation: Violation, output: Config) -> str | None:
        """Responsible if the team's class rejects the file, or if a name or path in it was not found."""
        if violation.code in ("config-refused", "config-fact"):
            return f"{output.file.path}: {violation.message}"
        text = f"{violation.message}\n{violation.evidence}"
        if not _NOT_FOUND.search(text):
            return None
        class_name = output.class_name.rpartition(":")[2]
        if class_name and re.search(
            rf"ValidationError.*{class_name}|'{class_name}' object has no attribute|for {class_name}\b", text
        ):
            return f"{output.file.path} lacks what the script reads from {class_name}: {violation.message}"
        noted = {keys: fact for fact, keys in output.places.items()}
        for keys, value in _texts(parse_text(output.file.path, output.file.text)):
            below = _UPWARDS.sub("", value)  # an error names the place that a relative path leads to
            if len(below) > 1 and (keys in noted or "/" in value) and below in text:
                place = ".".join(map(str, keys))
                what = noted.get(keys, "an unknown fact")
                return f"{output.file.path} has {value!r} for {what}, which was not found; check {place}."
        return None

    def _absent_facts(self, output: Config, context: Context) -> list[Violation]:
        """Facts that the rules would write into this configuration but that it does not contain."""
        absent = {key: value for key, value in self._known_facts.items() if key not in output.accessors}
        team = self._team(context)[0] if absent else None
        if team is None:
            return []
        places = locate(team.schema, self._facts, self._fill(team, {}).value)
        path = output.file.path
        return [
            _fact(key, f"{path} does not state that the {key} is {value!r}; it belongs at {places[key].dotted}.")
            for key, value in absent.items()
            if key in places
        ]

    def _fill(self, team: _Team, answers: Mapping[str, Any], refused: frozenset[str] = frozenset()) -> FilledValue:
        return fill(team.schema, self._facts, NeighbourConfigs.read(team.files), answers, refused)

    def _team(self, context: Context) -> tuple[_Team | None, tuple[Violation, ...]]:
        if self._known_team:
            return self._known_team, ()
        checkout = Checkout(self.root)
        conventions = read_conventions(self.root, self.run_spec, self.view, checkout)
        for departure in conventions.departures:
            context.progress(departure)
        files = neighbouring_configs(checkout, conventions, conventions.config_path.replace("{view}", self.view.name))
        code = TeamCode(self.sandbox, self.root, context.workspace)
        named = self.run_spec.repository.config_class
        schema, failure = find_schema(code, checkout, named, files)
        if failure is not None:
            return None, (_team_failed(named or "", failure),)
        schema = schema or plain_schema(files, sorted(self.view.tables))
        self._known_team = _Team(schema, files, conventions.config_path, conventions.line_length)
        return self._known_team, ()


def _shown_facts(facts: Mapping[str, Any], view: View, run: Run) -> list[str]:
    """The values that the configuration must contain, if it has a field for them, and optional values."""
    known = {
        "output partition" if key == "partition" else key: value
        for key, value in facts.items()
        if not key.startswith(NAME)
    }
    beside = {
        "keys of a row": ", ".join(view.grain),
        "format of the output": run.output.format,
        **{f"format of {name}": table.format for name, table in view.tables.items() if table.path is not None},
    }
    return [prompt_context.facts(known), prompt_context.facts(beside)]


def _sources(schema: TeamSchema, checkout: Checkout) -> Iterator[str]:
    """The source of the class and of every class of the repository used by its fields."""
    wanted = {schema.class_name.rpartition(":")[2], *schema.schema.get("$defs", {})}
    for module in checkout.modules:
        for node in module.classes if not module.is_test else ():
            text = ast.get_source_segment(module.text, node)
            if node.name in wanted and text:
                yield f"# {module.path}\n{text}"


def without_cases(fsc: str) -> str:
    """The specification without its test cases, which configurations do not depend on."""
    return _TESTS.sub("", fsc)


def _hand_over(reason: str, violations: tuple[Violation, ...]) -> Attempt[Config]:
    """Hands over to the planner, because no rule can do better."""
    return Attempt(None, reason=reason, fix=TERMINATE, violations=violations)


def _ask(missing: tuple[MissingField, ...], team: _Team, view: str, context: Context) -> dict[str, Any]:
    """Asks a person for each missing field; returns the answers by dotted path."""
    answers: dict[str, Any] = {}
    for item in missing:
        meaning = f" ({item.description})" if item.description else ""
        reply = context.ask(
            f"What is {item.field!r} of feature view {view!r}? "
            f"{team.schema.class_name or team.path} needs it{meaning}: {item.type}."
        )
        if reply is None:
            continue
        try:
            answers[item.field] = load_plain(reply) if not item.type.startswith("string") else reply.strip()
        except yaml.YAMLError:
            answers[item.field] = reply
    return answers


def _missing(item: MissingField, team: _Team) -> Violation:
    meaning = f" ({item.description})" if item.description else ""
    return Violation(
        code="config-field-missing",
        subject=item.field,
        message=f"{team.schema.class_name or 'The configuration'} needs {item.field!r}{meaning}, {item.type} "
        "and neither the specification, the registry, the run file nor the other configurations state it. "
        "Answer the question in an interactive run (`human: console`), or give the field a default.",
    )


def _team_failed(name: str, reply: TeamAnswer) -> Violation:
    return Violation(
        code="team-code-failed",
        subject=name,
        evidence=reply.trace,
        message=f"The configuration class {name!r} cannot be used: {reply.failure}. Check "
        "`repository.config_class` in the run file, and that the repository's dependencies are installed.",
    )


def _refused(item: Mapping[str, str], output: Config) -> Violation:
    place = f"{item['field']!r} = {item['value']}" if item["field"] else "the configuration as a whole"
    return Violation(
        code="config-refused",
        subject=item["field"],
        evidence=output.file.text[:3000],
        message=f"{output.class_name} refuses {place}: {item['message']}.",
    )


def _fact(key: str, message: str) -> Violation:
    return Violation(code="config-fact", subject=key, message=message)


def _wrong_facts(known: Mapping[str, Any], values: Mapping[str, Any], output: Config) -> list[Violation]:
    return [
        _fact(key, f"{output.accessors[key]} gives {values[key]!r} where the {key} is {expected!r}.")
        for key, expected in known.items()
        if key in values and not same(values[key], expected)
    ]


def _texts(document: Any, keys: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Every string in a document, with its keys."""
    if isinstance(document, str):
        yield keys, document
    elif isinstance(document, dict | list):
        for key, value in document.items() if isinstance(document, dict) else enumerate(document):
            yield from _texts(value, (*keys, key))
