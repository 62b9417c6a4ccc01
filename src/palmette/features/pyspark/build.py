"""Writes the body of the build function, and the transforms that it calls."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from palmette.errors import DeveloperError
from palmette.features.artefacts import Conventions
from palmette.features.pyspark.code import CodeFragment, chain, name_arguments, names, quoted, renamed, with_columns
from palmette.features.pyspark.groups import FeatureTransform, write_group, write_lookup
from palmette.features.pyspark.house_style import cast_to
from palmette.features.pyspark.layout import FeatureGroup, groups, keys, longest_window, lookups, own_columns
from palmette.features.pyspark.output import computed_code, derive_levels, finished, write_spine
from palmette.features.pyspark.scope import ScriptScope, identifier
from palmette.features.pyspark.sources import SourceTransforms, write_source
from palmette.features.pyspark.states import join_keys
from palmette.features.pyspark.times import containing, depends_on_zone, in_window
from palmette.features.signature import form_of, signature
from palmette.features.spec.fsc_steps import Step, pairs, set_by
from palmette.features.spec.sql import parse
from palmette.features.spec.view import AS_OF, View, ViewFeature, ViewSource


def observing(view: View) -> list[ViewSource]:
    """The event sources that define the rows of a view without a spine, without sources covered by others."""
    grain = tuple(view.grain)
    names = {feature.source for feature in view.features if feature.source and keys(view, feature) == grain}
    sources = [source for source in view.sources if source.is_event and source.name in names]
    if not sources:
        raise DeveloperError(f"feature view {view.name!r} has neither a spine nor events grouped by its grain")
    kept: list[ViewSource] = []
    for source in sources:
        if not any(_covers(view, other, source) for other in kept):
            kept = [other for other in kept if not _covers(view, source, other)] + [source]
    return kept


def _covers(view: View, wide: ViewSource, narrow: ViewSource) -> bool:
    """Whether the longest window of `wide` contains every visible row of `narrow`'s, with the same keys.

    After the common initial steps, every step with which `wide` drops rows must also be a step of `narrow`, and neither
    may change the keys or the columns that these steps use. Steps never change times.
    """
    longest, other = (longest_window(view, source, tuple(view.grain)) for source in (wide, narrow))
    contains = longest is None or (other is not None and containing([longest, other], view.zone) == longest)
    if wide.table != narrow.table or not contains:
        return False
    mine, others = (*wide.early, *wide.late), (*narrow.early, *narrow.late)
    while mine and others and mine[0] == others[0]:
        mine, others = mine[1:], others[1:]
    changed = {name for step in (*mine, *others) for name in set_by(step)}
    drops = [(step, by) for step in mine if (by := _drops_by(step)) is not None]
    decisive = set(view.grain).union(*(by for _, by in drops))
    return not decisive & changed and all(step in others for step, _ in drops)


def _drops_by(step: Step) -> set[str] | None:
    """The columns that decide which rows a step drops; None if it keeps all rows."""
    if step.filter is not None:
        return set(parse(step.filter).columns)
    return set(pairs(step.join.on)) if step.join and step.join.unmatched == "drop" else None


def observing_groups(view: View) -> list[FeatureGroup]:
    """Groups that together contain all keys of the output, so that no separate pass is needed; else none."""
    grain, found = tuple(view.grain), list[FeatureGroup]()
    for source in observing(view):
        longest = longest_window(view, source, grain)
        shared = [one for one in groups(view, source) if one.by == grain and not one.is_alone and one.where is None]
        found += [one for one in shared if one.window == longest][:1]
    return found if len(found) == len(observing(view)) else []


def write_observed(scope: ScriptScope, known: dict[str, SourceTransforms]) -> FeatureTransform:
    """Adds the transform that collects the output's keys from the visible rows."""
    grain = tuple(scope.view.grain)
    sources = observing(scope.view)
    selects = []
    for source in sources:
        window, event = longest_window(scope.view, source, grain), known[source.name].event
        assert event is not None
        calls = []
        if window is not None and window != known[source.name].window:
            calls = [f"where({in_window(scope, window, event).text})"]
        selects.append(".".join([identifier(source.name), *calls, f"select({name_arguments(grain)})"]))
    combined = selects[0] + "".join(f".union({item})" for item in selects[1:])
    name = scope.fresh("observed_keys")
    doc = f"Every {' and '.join(key.removesuffix('_id') for key in grain)} with an event in the longest window."
    frames = [identifier(source.name) for source in sources]
    return FeatureTransform(name, grain, scope.write(name, frames, doc, [f"return {combined}.dropna().distinct()"]))


class Build:
    """Writes the body of the build function, and the transforms it calls."""

    def __init__(self, scope: ScriptScope, conventions: Conventions) -> None:
        self.scope, self.view, self.conventions = scope, scope.view, conventions
        self.parameters = signature(self.view, conventions, "build")
        self.lines: list[str] = []
        self.known: dict[str, SourceTransforms] = {}
        self.rows: dict[tuple[str, tuple[str, ...]], str] = {}
        """Variables that hold visible rows, by source and keys of the features."""
        self.needed = {feature.name for feature in self.view.features}  # the features to compute
        self.base: list[FeatureGroup] = []
        """The groups that together define the output's rows; empty if the rows are found separately."""

    def body(self) -> list[str]:
        start = [self._spine()] if self.view.spine is not None else []
        self.write_sources()
        self._known_rows()
        first, *calls = [*(start or self._observed()), *self._joins()]
        return self.statements([*self.lines, *self._contract(first, calls)])

    def statements(self, lines: list[str]) -> list[str]:
        """The body from its lines, with the team's name for the cut-off, and the zone pinned if the code needs that."""
        parsed, name = self._cutoff()
        code = "\n".join([*lines, *self.scope.functions]).replace("'", '"')
        if depends_on_zone(self.view, code):
            lines = [*self._pinned_zone(), *lines]
        return [*parsed, *(renamed(line, "as_of", name) for line in lines)]

    def query_run(self, script: str, query: str) -> list[str]:
        """Statements that run the query in a file; both paths are relative to the repository."""
        folder, (home, _, file) = PurePosixPath(script).parent, query.rpartition("/")
        root = f"(Path(__file__).parents[{len(folder.parts)}] / {quoted(query)})"
        place = f"Path(__file__).with_name({quoted(file)})" if home == str(folder) else root
        views = [f"{self.table(name)}.createOrReplaceTempView({quoted(name)})" for name in sorted(self.view.tables)]
        given = "" if self.view.cutoff == "spine" else f", args={{{quoted(self.cutoff_name)}: as_of}}"
        run = f'return {self._session()}.sql({place}.read_text(encoding="utf-8"){given})'
        pin = [] if "session.timeZone" in self.conventions.skeleton else self._pinned_zone()
        parsed, name = self._cutoff()
        return [*parsed, *pin, *views, renamed(run, "as_of", name)]

    def write_sources(self) -> None:
        """Writes the transforms of all sources."""
        self.known = {source.name: write_source(self.scope, source) for source in self.view.sources}

    @property
    def cutoff_name(self) -> str:
        """The team's name for the cut-off."""
        return next((bound.name for bound in self.parameters if bound.meaning == "as_of"), "as_of")

    def _cutoff(self) -> tuple[list[str], str]:
        """Statements that make the cut-off a timestamp, if needed, and its name in the team's function."""
        bound = next((bound for bound in self.parameters if bound.meaning == "as_of"), None)
        if bound is None:
            return [], "as_of"
        if self.view.cutoff == "spine":
            return [f"del {bound.name}  # every row has a cut-off of its own"], "as_of"
        aware = "moment = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)"
        if form_of(bound) == "str":
            return [f"moment = datetime.fromisoformat({bound.name})", aware], "moment"
        if form_of(bound) == "date":
            midnight = f"datetime({bound.name}.year, {bound.name}.month, {bound.name}.day)"
            return [f"moment = {bound.name} if isinstance({bound.name}, datetime) else {midnight}", aware], "moment"
        if self.conventions.naive_cutoffs:
            return [aware.replace("moment", bound.name)], bound.name
        return [], bound.name

    def table(self, name: str) -> str:
        """The data frame of a table inside the build function."""
        for bound in self.parameters:
            if bound.meaning == "tables":
                return f"{bound.name}[{quoted(name)}]"
        return name

    def _pinned_zone(self) -> list[str]:
        return [
            "# Calendar days and hours are the view's, whatever zone the session came with.",
            f'{self._session()}.conf.set("spark.sql.session.timeZone", ZONE)',
        ]

    def _session(self) -> str:
        session = next((bound.name for bound in self.parameters if bound.meaning == "spark"), None)
        return session or f"{self.table(min(self.view.tables))}.sparkSession"

    def _spine(self) -> str:
        """The expression for the spine's rows, which the joins start from."""
        assert self.view.spine is not None
        call = f"{write_spine(self.scope)}({self.table(self.view.spine.table)})"
        if not self.scope.per_row:
            return call
        self.lines.append(f"spine = {call}")
        return "spine"

    def _needed(self, every: list[FeatureGroup]) -> list[FeatureGroup]:
        """The parts of groups that are needed."""
        found = [replace(one, features=tuple(f for f in one.features if f.name in self.needed)) for one in every]
        return [group for group in found if group.features]

    def _observed(self) -> list[str]:
        """The observed keys, as an expression and calls; uses groups that already contain all keys if possible."""
        grain = tuple(self.view.grain)
        every = observing_groups(self.view)
        self.base = found if len(found := self._needed(every)) == len(every) else []
        if self.base:
            first, *others = [self._group(group) for group in self.base]
            joins = [self._join(*other, how="full") for other in others]
            return [self._call(*first), *joins, f"dropna(subset={names(grain)})"]
        rows = [self.rows[source.name, grain] for source in observing(self.view)]
        return [self._call(write_observed(self.scope, self.known), rows)]

    def _known_rows(self) -> None:
        """Assigns the visible rows of each source to variables."""
        for name, item in self.known.items():
            start = self.table(item.source.table.name)
            if item.prepared:
                arguments = [start, *(self.table(table) for table in item.early_tables)]
                prepared = self.scope.fresh(f"all_{name}") if self.scope.per_row else self._variable(name)
                self.lines.append(f"{prepared} = {item.prepared}({', '.join(arguments)})")
                start = prepared
            given = [start, *(self.table(table) for table in item.tables)]
            bys = list(dict.fromkeys(group.by for group in groups(self.view, item.source)))
            if self.scope.per_row:
                self._known_per_row(item, given, bys)
            else:
                variable = self._variable(name)
                arguments = [*given, *(["as_of"] if item.takes_as_of else [])]
                self.lines.append(f"{variable} = {item.function}({', '.join(arguments)})")
                self.rows |= {(name, by): variable for by in bys}

    def _known_per_row(self, item: SourceTransforms, given: list[str], bys: list[tuple[str, ...]]) -> None:
        name = item.source.name
        several = len({on for on in item.fan_out.values() if on}) > 1
        variables: dict[str, str] = {}
        for by in bys:
            on = item.fan_out[by]
            keys = [names(on)] if several and on else []
            call = f"{item.by_relatives.get(by, item.function)}({', '.join([*given, 'spine', *keys])})"
            if call not in variables:
                alone = not several and not item.by_relatives
                wanted = name if alone else f"{name}_by_{self.scope.keys_name(on or by)}"
                variables[call] = self._variable(wanted)
                self.lines.append(f"{variables[call]} = {call}")
            self.rows[name, by] = variables[call]

    def _variable(self, wanted: str) -> str:
        """A name for a local variable that shadows no parameter or function."""
        name = identifier(wanted)
        sources = {identifier(source.name) for source in self.view.sources}
        is_free = name in sources and name not in {bound.name for bound in self.parameters}
        return name if is_free else self.scope.fresh(f"visible_{wanted}")

    def _joins(self) -> list[str]:
        joins, base = [], {group.identity for group in self.base}
        for source in self.view.sources:
            others = (group for group in self._needed(groups(self.view, source)) if group.identity not in base)
            joins += [self._join(*self._group(group)) for group in others]
        own = own_columns(self.view)
        for (table, on), every in lookups(self.view).items():
            features = [one for one in every if one.name in self.needed]
            if not features or features[0].name in own:
                continue
            written = write_lookup(self.scope, self.view.tables[table], dict(on), features)
            takes_spine = self.scope.per_row and len(written.by) > len(on)
            joins.append(self._join(written, [self.table(table), *(["spine"] if takes_spine else [])]))
        return joins

    def _group(self, group: FeatureGroup) -> tuple[FeatureTransform, list[str]]:
        """The transform of a group, and its arguments."""
        return write_group(self.scope, group, self.known[group.source.name]), [self.rows[group.source.name, group.by]]

    def _call(self, written: FeatureTransform, arguments: list[str]) -> str:
        given = [*arguments, *(["as_of"] if written.takes_as_of else [])]
        return f"{written.function}({', '.join(given)})"

    def _join(self, written: FeatureTransform, arguments: list[str], how: str = "left") -> str:
        return f"join({self._call(written, arguments)}, on={join_keys(list(written.by))}, how={quoted(how)})"

    def _contract(self, first: str, calls: list[str]) -> list[str]:
        """The statements that turn the joined frame into the output."""
        view, steps = self.view, self._inputs_of_derived()
        ready = {name for step in steps for name in step}
        has_cutoff = self.scope.per_row or AS_OF in ready
        cutoff = [quoted(AS_OF) if has_cutoff else 'F.lit(as_of).alias("as_of")'] if AS_OF in view.output else []
        columns = [quoted(one.name) if one.name in ready else self._column(one) for one in view.public]
        keys = [quoted(name) for name in (*view.grain, *view.kept)]
        if view.partition is not None:  # the day of the last microsecond before the cut-off
            before = f'{self.scope.cutoff.text} - F.expr("INTERVAL 1 MICROSECOND")'
            columns.append(f"F.to_date({before}).alias({quoted(view.partition)})")
        return [f"features = {joined(first, calls, steps)}", self.last([*keys, *cutoff, *columns])]

    def _inputs_of_derived(self) -> list[dict[str, str]]:
        """What derived features use and the joined frame lacks or has unfinished: in rounds, code by column."""
        levels = [[one for one in level if one.name in self.needed] for level in derive_levels(self.view)]
        used = {word for level in levels for one in level for word in re.findall(r"\w+", one.derive or "")}
        first = {AS_OF: "F.lit(as_of)"} if AS_OF in used and not self.scope.per_row else {}
        for feature in self.view.features:
            if feature.name in used and feature.derive is None and (code := self._code(feature)).column != feature.name:
                first[feature.name] = code.text
        return [first, *({one.name: self._code(one).text for one in level if one.name in used} for level in levels)]

    def last(self, columns: list[str]) -> str:
        """The statement that returns the output, with casts and ordering if the team's scripts have them."""
        style = self.conventions.style
        if style.casts:
            typed = zip(columns, self.view.output.items(), strict=True)
            columns = [cast_to(column, name, str(kind)) for column, (name, kind) in typed]
        order = f".orderBy({', '.join(quoted(name) for name in self.view.grain)})" if style.sorted else ""
        return select("return features", columns) + order

    def _code(self, feature: ViewFeature) -> CodeFragment:
        """A feature's value with its type and default."""
        if feature.derive is not None:
            types = {**self.view.grain, **{item.name: item.dtype for item in self.view.features}}
            return finished(feature, self.scope.sql(feature.derive, types))
        is_joined = len(self.base) != 1 or feature.name not in self.base[0].identity
        return finished(feature, computed_code(self.view, feature), joined=is_joined)

    def _column(self, feature: ViewFeature) -> str:
        code = self._code(feature)
        if code.column == feature.name:
            return code.argument
        keeps_name = re.fullmatch(rf'F\.col\("{feature.name}"\)\.cast\("[^"]*"\)', code.text)
        return code.text if keeps_name else f"{code.text}.alias({quoted(feature.name)})"


def joined(first: str, calls: list[str], steps: Sequence[Mapping[str, str]] = ()) -> str:
    """The frame that calls and then the columns of each step make of the first one."""
    calls = [*calls, *(call for step in steps for call in with_columns(step))]
    return f"{first}.{calls[0]}" if len(calls) == 1 else chain(first, calls)


def select(start: str, columns: list[str]) -> str:
    return f"{start}.select(\n" + "".join(f"    {column},\n" for column in columns) + ")"
