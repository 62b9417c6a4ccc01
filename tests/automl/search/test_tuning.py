"""Settings are searched for learners that gain from it."""

from palmette.automl.candidates import Candidate
from palmette.automl.encoders.encoder import DataFacts
from palmette.automl.search.tuning import PATIENCE, Tuner


def test_a_learner_that_gains_nothing_leaves_its_turns_to_others() -> None:
    tuner = Tuner(DataFacts(1000, 10, "classification", 1, 2, "", 5, ("number",)), seed=0)
    ranked = [Candidate(name=name, learner=name) for name in ("linear", "lightgbm", "catboost")]
    asked = list[str]()
    for _ in range(4 * PATIENCE):
        made = tuner.ask(ranked)
        assert made is not None
        asked.append(made.learner)
        tuner.tell(made.name, 0.9, None)
    assert asked[:3] == ["linear", "linear", "lightgbm"]
    assert asked.count("linear") < 2 * PATIENCE and "catboost" in asked
    made = tuner.ask([Candidate(name="dummy", learner="dummy"), *ranked])
    assert made is not None and made.learner != "dummy", "which has no settings"
