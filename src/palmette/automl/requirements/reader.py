"""The rules as a whole: a request and what is known of its data, into requirements."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from palmette.automl.data.artefacts import Threshold
from palmette.automl.requirements import datasets, goals, tasks, uses, wishes
from palmette.automl.requirements.algorithms import algorithms
from palmette.automl.requirements.bounds import Found
from palmette.automl.requirements.classes import Classes, Groups, classes, clusters, measured_class, speaks_of_positive
from palmette.automl.requirements.columns import named_in
from palmette.automl.requirements.constraints import constraints, unplaced
from palmette.automl.requirements.goals import Goal
from palmette.automl.requirements.leftover import unread
from palmette.automl.requirements.model import (
    Assumption,
    ColumnHint,
    DatasetPart,
    Excluded,
    KnowledgePart,
    Metric,
    ModelPart,
    PreferenceWish,
    ProblemPart,
    Question,
    Requirements,
    ServicePart,
    SplitWish,
    Understanding,
)
from palmette.automl.requirements.people import user_of
from palmette.automl.requirements.quantities import amounts
from palmette.automl.requirements.relevance import in_another_language, refusal
from palmette.automl.requirements.resources import named_amounts
from palmette.automl.requirements.splits import split
from palmette.automl.requirements.targets import Chosen, bare, choose, phrases
from palmette.automl.requirements.tasks import Said
from palmette.automl.requirements.text import Span, Text
from palmette.automl.requirements.thresholds import as_classes, threshold
from palmette.automl.requirements.together import together
from palmette.automl.requirements.vocabulary import (
    Mention,
    algorithm_mentions,
    error_mentions,
    mentions,
    metric_mentions,
    unmeasured_mentions,
    vocabulary,
)

LONGEST = 10_000
"""Characters of a request that are read."""
_METRIC_CUE = re.compile(
    r"\b(?:metrics?|measured?|evaluat\w+|optimi[sz]\w+|maximi[sz]\w+|minimi[sz]\w+|"
    r"in terms of|judged?|scored?|criterion|what counts|matters most|use)\b",
    re.I,
)
_UNWANTED = re.compile(
    r"\s*(?:is|are|does|do)\s*(?:not|n't)\s+(?:matter|important|count|needed)|\s*(?:is|"
    r"are)\s+(?:irrelevant|misleading|useless|meaningless)|\s*doesn't (?:matter|count)",
    re.I,
)


def read_request(
    text: str,
    columns: Mapping[str, ColumnHint] | None = None,
    files: Sequence[str] = (),
    answers: Mapping[str, str] | None = None,
) -> Understanding:
    """What a request asks for.

    Args:
        columns: The columns of the data, where they are known, in their order.
        files: The files that were given with the request.
        answers: What was said to an earlier question, by what it is about, e.g. `{"dataset.target_column": "price"}`.
    """
    return _Reader(text, columns or {}, files, answers or {}).understood()


class _Scored(NamedTuple):
    """What the outcome is scored with, and the numbers it must reach."""

    metric: Metric | None
    found: tuple[Found, ...]
    question: Question | None = None
    assumptions: tuple[Assumption, ...] = ()
    unread: tuple[str, ...] = ()


class _Reader:
    """One request, read part by part; each part sees what those before it have taken."""

    def __init__(
        self, written: str, columns: Mapping[str, ColumnHint], files: Sequence[str], answers: Mapping[str, str]
    ) -> None:
        self.written, self.columns, self.files, self.answers = written, columns, files, answers
        self.text = Text(written[:LONGEST])
        self.evidence: dict[str, str] = {}
        self.metrics = [one for one in metric_mentions(self.text.plain) if not self._unwanted(one)]
        self.named = algorithm_mentions(self.text.plain)
        self.split, words, self.taken = split(self.text)
        self._quote("dataset.split", words)
        self.barred = uses.excluded(self.text, columns)
        self.excluded = self.barred.columns
        apart = tasks.said_task(self.text, self.metrics, self.named).task != "clustering"
        self.together = together(self.text, columns, dividing=apart)
        self.taken += [self.together.span] if self.together else []
        if self.together is not None and self.together.column:
            self._quote("dataset.split.group", self.text.quote(self.together.span.start, self.together.span.end))
        self.threshold: Threshold | None = None
        self.goal = self._goal()
        self.task = self.goal.task
        self.modality, word = tasks.said_modality(self.text, self.task, columns, files)
        self._saw("dataset.modality", word)
        self.sequence, numbers = wishes.sequence(self.text, self.task == "forecasting")
        self.taken += numbers
        self.groups = clusters(self.text) if self.task == "clustering" else Groups()
        self.taken += self.text.places(self.groups.words)
        self.positive = self._positive()
        self.scored = self._scored()
        self.used = uses.only(self.text, self.columns, self.task, self.goal.column)

    def understood(self) -> Understanding:
        made = Requirements(
            text=self.written,
            user=user_of(self.text, self.named),
            problem=self._problem(),
            dataset=self._dataset(),
            model=ModelPart(
                algorithms=algorithms(self.text, self.named), libraries=self._listed(vocabulary().libraries)
            ),
            knowledge=KnowledgePart(preferences=self._preferences(), hints=wishes.sentences_with(self.text, "hints")),
            service=ServicePart(
                deliverables=wishes.deliverables(self.text), devices=self._listed(vocabulary().devices)
            ),
            evidence=self.evidence,
            assumptions=(*self.goal.assumptions, *self.scored.assumptions),
        )
        made = made.model_copy(update={"unread": self._unread(made)})
        declined = refusal(self.text, made, self.columns, bool(self.columns or self.files), self.goal)
        if declined is None:
            return Understanding(requirements=made, question=self.goal.question or self.scored.question)
        intent = {"question": "consult", "irrelevant": "unclear"}.get(declined.code, "build")
        user = made.user.model_copy(update={"intent": intent})
        return Understanding(requirements=made.model_copy(update={"user": user}), refusal=declined)

    def _unread(self, made: Requirements) -> tuple[str, ...]:
        return unread(self.text, made, self.columns, self.taken, self._missed(), self.scored.unread)

    def _missed(self) -> list[Span]:
        """What rules something out or keeps rows together and fits no column."""
        groups = [self.together.span] if self.together and not self.together.column else []
        classed = self.text.places(classes(self.text).words) if self.task == "regression" else ()
        positive = speaks_of_positive(self.text) if self.task == "classification" and not self.positive else None
        missed = [*self.barred.missed, *self.used.missed, *groups, *classed, *([positive] if positive else [])]
        return missed if self.columns else []

    def _goal(self) -> Goal:
        handed_over = mentions(self.text.plain, vocabulary().deliverables)
        spoken = phrases(self.text, [*self._spans([*self.metrics, *self.named, *handed_over]), *self.taken])
        told = tasks.said_task(self.text, self.metrics, self.named)
        sure = (
            told.task
            if told.task in ("regression", "classification") and told.strength in ("explicit", "implied")
            else None
        )
        barred = [one.column for one in self.excluded] + ([self.together.column] if self.together else [])
        chosen = choose(self.text.without([*named_amounts(self.text), *self.taken]), spoken, self.columns, barred, sure)
        told, chosen = self._in_classes(told, chosen)
        goal = goals.decide(told, chosen, spoken, self.columns, self.answers)
        goal = goal._replace(named=bool(self.metrics or self.named))
        goal = in_another_language(self.text, self.columns, goal, self.answers)
        if told.task == goal.task:
            self._saw("problem.task", Mention("", told.start, told.end))
        if goal.spoken is not None:
            self._saw("dataset.target", Mention("", goal.spoken.start, goal.spoken.end))
        return goal

    def _in_classes(self, told: Said, chosen: Chosen) -> tuple[Said, Chosen]:
        """Task and target where a number makes two classes of a column: from then on, it is one of classes."""
        others = [*self.metrics, *error_mentions(self.text.plain, self.metrics), *unmeasured_mentions(self.text.plain)]
        names = self._spans([*others, *self.named])
        found = threshold(
            self.text, self.columns, chosen.column, chosen.how == "said", others, [*self.taken, *names]
        )
        if told.task == "clustering" or found is None:
            return told, chosen
        self.threshold, place = found
        self.columns = as_classes(self.columns, self.threshold)
        self.taken.append(place)
        spoken = chosen.spoken if chosen.column == self.threshold.column else None
        return Said("classification", "explicit", place.start, place.end), Chosen(self.threshold.column, "said", spoken)

    def _scored(self) -> _Scored:
        """Metric and constraints; a metric that is none of the task is asked about where a number hangs on it."""
        names = [
            Span(start, end)
            for start, end, _ in named_in(self.text.plain, self.columns)
            if re.search(r"\d", self.text.plain[start:end])
        ]
        numbers = amounts(self.text, [*self.taken, *self._spans([*self.metrics, *self.named]), *names])
        fit = [
            one for one in self.metrics if self.task is None or tasks.fitting_metric(cast(Metric, one.name), self.task)
        ]
        metric = self._metric(fit)
        default = metric or (cast(Metric, self.metrics[0].name) if self.metrics else None)
        others = unmeasured_mentions(self.text.plain)
        named = [*(fit or self.metrics), *error_mentions(self.text.plain, [*self.metrics, *others]), *others]
        told = sorted(named, key=lambda m: m.start)
        found = tuple(constraints(self.text, numbers, told, default, self.task))
        rest = unplaced(self.text, numbers, found)
        notes = tuple(
            Assumption(field="problem.constraints", value=str(one.constraint), why=one.note)
            for one in found
            if one.note
        )
        misfit = next((one for one in found if one.constraint.metric and self._misfits(one.constraint.metric)), None)
        if misfit is not None:
            return self._other_metric(cast(Metric, misfit.constraint.metric), found)._replace(unread=rest)
        metric = metric or next((one.constraint.metric for one in found if one.constraint.metric), None)
        return _Scored(metric, found, assumptions=notes, unread=rest)

    def _metric(self, fit: Sequence[Mention]) -> Metric | None:
        """The one that is called the metric, else the first."""
        cued = [one for one in fit if self._is_cued(one)]
        best = next(iter(cued or fit), None)
        self._saw("problem.metric", best)
        return cast(Metric, best.name) if best is not None else None

    def _is_cued(self, one: Mention) -> bool:
        before = self.text.plain[max(self.text.sentence(one.start).start, one.start - 45) : one.start]
        return (
            _METRIC_CUE.search(before) is not None
            or re.match(r"\W*(?:as (?:the|our|a) metric|metric)\b", self.text.plain[one.end :], re.I) is not None
        )

    def _misfits(self, metric: Metric) -> bool:
        return self.task is not None and not tasks.fitting_metric(metric, self.task)

    def _other_metric(self, wrong: Metric, found: tuple[Found, ...]) -> _Scored:
        """A metric of the task in the place of one that is not; as asked about, or its default."""
        assert self.task is not None
        bounded = vocabulary().metrics[wrong].bounded
        options = goals.metrics_for(self.task, bounded)
        metric = cast(Metric, self.answers.get("problem.metric", options[0]))
        question = None
        if "problem.metric" not in self.answers:
            words = f"{wrong} is no metric of {self.task}. Which one is meant?"
            question = Question(about="problem.metric", text=words, options=options)
        keep = vocabulary().metrics[metric].better == vocabulary().metrics[wrong].better
        changed = tuple(
            one._replace(constraint=one.constraint.model_copy(update={"metric": metric}))
            if one.constraint.metric == wrong
            else one
            for one in found
            if keep or one.constraint.metric != wrong
        )
        why = f"{wrong} is no metric of {self.task}" + ("." if keep else "; its bound was left out.")
        return _Scored(metric, changed, question, (Assumption(field="problem.metric", value=metric, why=why),))

    def _problem(self) -> ProblemPart:
        told, groups = Classes(), self.groups
        if self.task in ("classification", "node classification"):
            told = classes(self.text)
            self._quote("problem.n_classes", told.words)
        elif self.task == "clustering":
            self._quote("problem.n_clusters", groups.words)
        hint = self.columns.get(self.goal.column)
        counted = (
            hint.distinct if hint is not None and hint.distinct is not None and self.task == "classification" else None
        )
        return ProblemPart(
            area=vocabulary().areas[self.modality],
            task=self.task,
            domain=self._domain(),
            description=self._description(),
            metric=self.scored.metric,
            constraints=tuple(one.constraint for one in self.scored.found),
            classes=told.names,
            positive=self.positive,
            threshold=self.threshold,
            n_classes=counted or told.number,
            n_clusters=groups.number,
            least_clusters=groups.least,
            most_clusters=groups.most,
        )

    def _positive(self) -> str:
        """The class that a metric of one class is about, as far as the request says."""
        hint = self.columns.get(self.goal.column)
        if self.threshold is not None:
            return self.threshold.classes[0]
        if hint is None or self.task != "classification":
            return ""
        found = measured_class(self.written, hint.examples, classes(self.text).names) or ""
        told = speaks_of_positive(self.text) if found else None
        self.taken += [told] if told else []
        return found

    def _dataset(self) -> DatasetPart:
        named, hub = datasets.files(self.text), datasets.hubs(self.text)
        uploaded = bool(self.files or self.columns or named) or re.search(r"\bupload|\battach", self.text.plain, re.I)
        return DatasetPart(
            name=datasets.dataset_name(self.text),
            modality=self.modality,
            target=bare(self.text.quote(self.goal.spoken.start, self.goal.spoken.end)) if self.goal.spoken else "",
            target_column=self.goal.column,
            features=uses.features(self.text, self.columns),
            excluded=self._excluded(),
            files=named,
            hub=hub,
            source="hub" if hub and not self.files else "upload" if uploaded else "unknown",
            split=self._split(),
            sequence=self.sequence,
            preprocessing=wishes.sentences_with(self.text, "preprocessing"),
            augmentation=wishes.sentences_with(self.text, "augmentation"),
        )

    def _split(self) -> SplitWish | None:
        """As said; by groups where rows are to be kept together; by time where the goal needs it."""
        if self.together is not None:
            return (self.split or SplitWish()).model_copy(update={"by": "group", "group": self.together.column})
        if not self.goal.by_time or (self.split is not None and self.split.by is not None):
            return self.split
        return (self.split or SplitWish()).model_copy(update={"by": "time"})

    def _excluded(self) -> tuple[Excluded, ...]:
        """What is ruled out, and what a list of all that may be used leaves out."""
        barred = {one.column for one in self.excluded}
        alone = set(self.used.columns) - barred
        rest = [name for name in self.columns if alone and name not in {*alone, *barred, self.goal.column}]
        return (*self.excluded, *(Excluded(column=name, words=self.used.words) for name in rest))

    def _preferences(self) -> tuple[PreferenceWish, ...]:
        """With `accuracy` for who asks for it where it is no metric."""
        numbers = [Span(one.amount.span.start, one.amount.end) for one in self.scored.found]
        found = wishes.preferences(self.text, numbers)
        loose = next((one for one in self.metrics if one.name == "accuracy" and self._misfits("accuracy")), None)
        if loose is None or self.scored.metric is not None or any(one.name == "accuracy" for one in found):
            return found
        return (*found, PreferenceWish(name="accuracy", words=self.text.quote(loose.start, loose.end)))

    def _domain(self) -> str:
        found = mentions(self.text.plain, vocabulary().domains)
        return max(found, key=lambda one: sum(other.name == one.name for other in found)).name if found else ""

    def _description(self) -> str:
        """The sentence with the target, else with the task, else the first."""
        spoken, task = self.goal.spoken, self.goal.said
        place = spoken.start if spoken else task.start
        span = self.text.sentence(place)
        return self.text.quote(span.start, span.end)

    def _unwanted(self, one: Mention) -> bool:
        before = self.text.plain[max(0, one.start - 25) : one.start]
        return (
            _UNWANTED.match(self.text.plain, one.end) is not None
            or re.search(r"\b(?:not|instead of|rather than|ignore|no)\s+(?:the\s+)?$", before, re.I) is not None
        )

    def _listed(self, table: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
        return tuple(one.name for one in wishes.listed(self.text, table))

    def _spans(self, found: Sequence[Mention]) -> list[Span]:
        return [Span(one.start, one.end) for one in found]

    def _saw(self, path: str, mention: Mention | None) -> None:
        if mention is not None and mention.end > mention.start:
            self.evidence[path] = self.text.quote(mention.start, mention.end)

    def _quote(self, path: str, words: str) -> None:
        if words:
            self.evidence[path] = words
