"""The actor `request_verifier`: is this a request for a model, and is there enough to begin?"""

from __future__ import annotations

from typing import Literal

from palmette.automl.actors.request_verifier.offline import FACTS, ask, declined, read
from palmette.automl.requirements import DataSummary, Question, Refusal, Request, Understanding, Verification
from palmette.automl.requirements.quoting import quoted, shown_columns
from palmette.automl.requirements.relevance import EXAMPLE
from palmette.documents import Model
from palmette.engine import Attempt, Context, Measurement, Verdict, Violation
from palmette.llm import NEEDED, Agent, Answer, Section, section


class VerifierInput(Model):
    request: Request
    columns: DataSummary = DataSummary()


class Asked(Model):
    """One question, where the request can be read in several ways that lead to different models."""

    about: Literal["dataset.target_column", "problem.task", "problem.metric"]
    text: str
    options: tuple[str, ...]
    """Two to eight possible answers, the likeliest first; it is taken when nobody answers."""


class VerificationAnswer(Answer):
    relevant: bool
    """Whether a model that learns from data is wanted."""
    adequate: bool
    """Whether problem and data are known well enough to begin; details are not needed."""
    quotes: tuple[str, ...] = ()
    """The words of the request that show it, exactly as written."""
    example: str = ""
    """If it is declined: a request that would work, as close as possible to what was meant."""
    question: Asked | None = None
    """At most one, where the request is ambiguous."""


class RequestVerifier(Agent):
    """Takes a request on or declines it with the reason; asks once where target or goal is open.

    A request that is declined ends the run: no other actor could do anything about it.
    """

    name = "request_verifier"
    description = "Says whether the request is for a model and has enough to begin; asks once where it is ambiguous."
    produces = "verification"
    Input = VerifierInput
    Output = Verification
    Answer = VerificationAnswer
    has_criterion = True

    def offline(self, input: VerifierInput, context: Context) -> Attempt[Verification]:
        understood = read(input.request, input.columns)
        if understood.refusal is not None:
            raise declined(understood.refusal)
        return _taken_on(understood, understood.question, context)

    def brief(self, input: VerifierInput, context: Context) -> tuple[Section, ...]:
        return (
            section("request", input.request.text or "(no words, only data)", rank=NEEDED, language="text"),
            section("files", "\n".join(input.request.files), rank=NEEDED, language="text"),
            section("columns", *shown_columns(input.columns), rank=1, language="text"),
        )

    def read(self, answer: VerificationAnswer, input: VerifierInput, context: Context) -> Attempt[Verification]:
        understood = read(input.request, input.columns)
        if understood.refusal is not None and understood.refusal.code in FACTS:
            raise declined(understood.refusal)
        wrong = _misquoted(answer, input) + _odd_question(answer, input)
        contradicted = any(v.code == "decline-contradicted" for past in context.attempts for v in past.violations)
        declines = not (answer.relevant and answer.adequate)
        told = understood.requirements.evidence.keys() & {"problem.task", "dataset.target"}
        if declines and not contradicted and understood.refusal is None and told:
            wrong += [_contradicted(understood)]
        if wrong:
            return Attempt(None, answer.reason, answer.fix, tuple(wrong))
        if declines:
            code: Literal["irrelevant", "no-data"] = "no-data" if answer.relevant else "irrelevant"
            reason = answer.reason or "The request is not one for a model that learns from data."
            raise declined(Refusal(code=code, reason=reason, example=answer.example or EXAMPLE))
        question = Question(**answer.question.model_dump()) if answer.question else None
        return _taken_on(understood, question, context, answer)

    def check(self, input: VerifierInput, output: Verification, context: Context) -> Verdict:
        """There are data, a target that the request names is one of their columns, and the question was answered."""
        refusal = read(input.request, input.columns).refusal
        wrong = []
        if refusal is not None and refusal.code in FACTS:
            error = declined(refusal)
            wrong = [Violation(code=error.code, message=str(error), subject="request")]
        question = output.question
        if question is not None and output.answer not in question.options:
            message = f"The answer {output.answer!r} is none of the options of the question."
            wrong.append(Violation(code="answer-unknown", message=message, subject=question.about))
        detail = f"{output.reason}" + (f" Asked: {question.text} {output.answer}." if question else "")
        return Verdict.of(wrong, [Measurement(name="request", status="failed" if wrong else "passed", detail=detail)])

    def implicated(self, violation: Violation, output: Verification) -> str | None:
        """To blame where what it settled turned out wrong: the default of a question that nobody answered."""
        about = output.question.about if output.question and not output.by_person else None
        codes = {
            "dataset.target_column": "target-missing",
            "problem.task": "task-misfit",
            "problem.metric": "metric-misfit",
        }
        if about is None or violation.code != codes[about]:
            return None
        return f"Ask again about {about}: {violation.message}"


def _taken_on(
    understood: Understanding, question: Question | None, context: Context, said: VerificationAnswer | None = None
) -> Attempt[Verification]:
    problem, data = understood.requirements.problem, understood.requirements.dataset
    about = data.target_column or data.target
    why, fix = (said.reason, said.fix) if said else ("", "")
    reason = (
        " ".join(filter(None, [f"A request for {problem.task or 'a model'}", f"of {about!r}" if about else ""])) + "."
    )
    if question is None:
        return Attempt(Verification(reason=reason), why, fix)
    answer, by_person = ask(question, context.ask)
    if question.blind and answer is None:
        raise declined(_unanswered(question))
    made = Verification(reason=reason, question=question, answer=answer or question.default, by_person=by_person)
    return Attempt(made, why, fix)


def _unanswered(question: Question) -> Refusal:
    named = ", ".join(map(repr, question.options))
    reason = f"{question.text} Nobody answered, and nothing speaks for one of {named}."
    return Refusal(code="no-target", reason=reason, example=f"Predict the column {question.default!r}.")


def _misquoted(answer: VerificationAnswer, input: VerifierInput) -> list[Violation]:
    return [
        Violation(code="quote-not-found", message=f"The request does not say {quote!r}.", subject="quotes")
        for quote in answer.quotes
        if not quoted(quote, input.request.text)
    ]


def _odd_question(answer: VerificationAnswer, input: VerifierInput) -> list[Violation]:
    """A question with fewer than two options, or about columns that do not exist."""
    asked, known = answer.question, input.columns.hints
    if asked is None:
        return []
    found = []
    if not 2 <= len(set(asked.options)) <= 8:
        found.append(f"A question has two to eight different options, not {len(set(asked.options))}.")
    if asked.about == "dataset.target_column" and known:
        found += [f"The option {option!r} is no column of the data." for option in asked.options if option not in known]
    return [Violation(code="question-unusable", message=message, subject=asked.about) for message in found]


def _contradicted(understood: Understanding) -> Violation:
    made = understood.requirements
    seen = "; ".join(f"{field}: {words!r}" for field, words in made.evidence.items())
    return Violation(
        code="decline-contradicted",
        message=f"Declined, and yet the request seems to say what is needed ({seen}). Decline again if that is wrong.",
        subject="request",
    )
