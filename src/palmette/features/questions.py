"""Questions about features in words, answered by a person before a run, or by a model when it starts."""

import os
from collections.abc import Callable
from pathlib import Path

from palmette.documents import read_document, read_located, read_text
from palmette.engine import Human, Pay
from palmette.errors import InputError, Mistake
from palmette.features.inputs import read_inputs
from palmette.features.spec import FeatureSpec, Registry, Run, View
from palmette.features.spec.resolve import Answers, load_view
from palmette.features.words import OpenWords, WordsReader, feature_of
from palmette.llm import Answerer
from palmette.llm.opening import BUILT_IN, WORDS

QUESTIONS = frozenset({"unknown-words", "ambiguous-words"})


def answered(run_file: Path, human: Human, model: str | None = None) -> dict[str, str]:
    """Asks a person all questions about features in words; returns the answers by feature name.

    Args:
        model: The model of the agents, instead of the run file's. If a model reads words, no question is asked here;
            the environment asks (see `understood`).

    Raises:
        InputError: there are other mistakes, or a question is not answered.
    """
    answers: dict[str, str] = {}
    while True:
        try:
            read_inputs(run_file, answers)
        except InputError as error:
            if not only_questions(error):
                raise
            run = read_document(run_file, Run)
            if run.models.get(WORDS, model or run.model) != BUILT_IN:
                return answers
            question = error.problems[0]
            answer = human.ask(str(question.message))
            if not answer:
                raise
            fsc = Path(os.path.normpath(run_file.parent / run.fsc))
            feature = feature_of(read_document(fsc, FeatureSpec), question)
            assert feature is not None, question.field
            answers[feature.name] = answer
        else:
            return answers


def understood(run_file: Path, answers: Answers, error: InputError, model: Answerer, human: Human, pay: Pay) -> Answers:
    """The answers, extended by a model's readings of the words that `error` (questions only) is about.

    Raises:
        InputError: a question remains open.
    """
    run, folder = read_document(run_file, Run), run_file.parent
    fsc, dfr = (Path(os.path.normpath(folder / name)) for name in (run.fsc, run.dfr))
    reader = WordsReader(model, human, pay)
    readings = _readings(reader, fsc, dfr, error, lambda read: read_inputs(run_file, {**answers, **read}), answers)
    return {**answers, **readings}


def understood_view(fsc: Path, dfr: Path, model: Answerer | None, human: Human, pay: Pay) -> View:
    """Reads the view of two files. A model, if given, reads the words that the rules do not understand.

    Raises:
        InputError: with all mistakes; without a model, these include questions about features in words.
    """
    try:
        return load_view(fsc, dfr)
    except InputError as error:
        if model is None or not only_questions(error):
            raise
        reader = WordsReader(model, human, pay)
        readings = _readings(reader, fsc, dfr, error, lambda read: load_view(fsc, dfr, answers=read), {})
        return load_view(fsc, dfr, answers=readings)


def _readings(
    reader: WordsReader, fsc: Path, dfr: Path, error: InputError, load: Callable[[Answers], object], answers: Answers
) -> Answers:
    """Reads the words that `error` is about; `load` validates a reading against all other inputs."""

    def validate(readings: Answers) -> tuple[Mistake, ...]:
        try:
            load(readings)
        except InputError as wrong:
            return wrong.problems
        return ()

    spec, registry = read_located(fsc, FeatureSpec), read_document(dfr, Registry)
    return reader.read(OpenWords(spec, read_text(fsc), registry, validate, answers), error.problems)


def only_questions(error: InputError) -> bool:
    """Whether all problems are questions about features in words."""
    return all(problem.code in QUESTIONS for problem in error.problems)
