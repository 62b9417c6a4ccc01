"""The rows of a view without a spine: the keys observed in visible rows."""

from palmette.errors import DeveloperError
from palmette.features.pyspark.code import name_arguments
from palmette.features.pyspark.layout import FeatureGroup, groups, keys, longest_window
from palmette.features.pyspark.scope import ScriptScope, identifier
from palmette.features.pyspark.sources import SourceTransforms
from palmette.features.pyspark.times import containing, in_window
from palmette.features.spec.fsc_steps import Step, pairs, set_by
from palmette.features.spec.sql import parse
from palmette.features.spec.view import View, ViewSource


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


def write_observed(scope: ScriptScope, known: dict[str, SourceTransforms]) -> str:
    """Adds the transform that collects the output's keys from the visible rows; returns its name."""
    grain = tuple(scope.view.grain)
    sources = observing(scope.view)
    selects = []
    for source in sources:
        window, event = longest_window(scope.view, source, grain), known[source.name].event
        assert event is not None
        calls = []
        if window is not None and window != known[source.name].window:
            calls = [f"where({in_window(window, event, scope.cutoff, scope.view.zone).text})"]
        selects.append(".".join([identifier(source.name), *calls, f"select({name_arguments(grain)})"]))
    combined = selects[0] + "".join(f".union({item})" for item in selects[1:])
    name = scope.names.fresh("observed_keys")
    doc = f"Every {' and '.join(key.removesuffix('_id') for key in grain)} with an event in the longest window."
    frames, further = [identifier(source.name) for source in sources], ["as_of: datetime"] * ("as_of" in combined)
    scope.write(name, frames, doc, [f"return {combined}.dropna().distinct()"], further)
    return name
