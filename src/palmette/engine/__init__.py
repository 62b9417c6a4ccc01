"""The constrained-topology engine: it knows neither machine learning nor language models.

Reading order: `actor` (what a step is), `topology` (the permitted transitions), `wiring` (what feeds what),
`events` and `state` (what happened, and what that adds up to), `planner` (who decides), `executor` (the loop, and what
a person changed in between) and `invocation` (one actor's attempts). Around them: `lint` and `drawing` of topologies,
`registry` of plug-ins, `artefacts` and `journal` on disk, `recorder` (a paid call is made once), `human`, `setup` and
`runs` (the public entry, and one process at work).
"""

from palmette.engine.actor import (
    TERMINATE,
    Actor,
    Attempt,
    BaseActor,
    Context,
    Measurement,
    OutsideActor,
    Paid,
    PastAttempt,
    Pay,
    Recall,
    Remedy,
    Spend,
    TextFile,
    Verdict,
    Violation,
    pay_unrecorded,
)
from palmette.engine.artefacts import ArtefactStore
from palmette.engine.drawing import draw
from palmette.engine.events import Entry, Event
from palmette.engine.human import ConsoleHuman, Human, NoHuman, WebHuman, answer_question, human_of, open_questions
from palmette.engine.journal import Journal, read_journal, run_state
from palmette.engine.lint import check_topology, lint
from palmette.engine.planner import Decision, Planner, Situation
from palmette.engine.registry import Kind, create, load, names, register
from palmette.engine.runs import (
    RunSummary,
    find_run,
    list_runs,
    new_run_folder,
    resume_run,
    run_environment,
    run_topology,
    runs_folder,
)
from palmette.engine.setup import Observer, RunBudget, RunResult, Setup, build_actors
from palmette.engine.state import ActorState, RunState, fold
from palmette.engine.topology import END, START, STOP, Node, Topology, load_topology

__all__ = [
    "END", "START", "STOP", "TERMINATE", "Actor", "ActorState", "ArtefactStore", "Attempt", "BaseActor",
    "ConsoleHuman", "Context", "Decision", "Entry", "Event", "Human", "Journal", "Kind", "Measurement", "NoHuman",
    "Node", "Observer", "OutsideActor", "Paid", "PastAttempt", "Pay", "Planner", "Recall", "Remedy",
    "RunBudget", "RunResult", "RunState", "RunSummary", "Setup", "Situation", "Spend", "TextFile",
    "Topology", "Verdict", "Violation", "WebHuman", "answer_question", "build_actors", "check_topology", "create",
    "draw", "find_run", "fold", "human_of", "lint", "list_runs", "load", "load_topology", "names", "new_run_folder",
    "open_questions", "pay_unrecorded", "read_journal", "register", "resume_run", "run_environment", "run_state",
    "run_topology", "runs_folder",
]  # fmt: skip
