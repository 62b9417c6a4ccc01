"""Learners of nodes that look at neighbours; those that do not are the learners of classification."""

from collections.abc import Mapping
from typing import ClassVar

from palmette.automl.calls import Call, Name
from palmette.automl.encoders.encoder import DataFacts, DefaultConfig
from palmette.automl.kinds import Kind
from palmette.automl.learners.learner import Learner, Measured, Range, Settings, TrainingSetup
from palmette.automl.learners.neural.learners import NetworkLearner

PROPAGATION = "palmette.automl.learners.graph.nodes"
WORDS = 50  # columns from which numbers are treated as word counts
MOST_EPOCHS = 300
FAMILIES = frozenset({"graph"})


class _OfNodes(Learner):
    problems = frozenset({"node_classification"})
    layout = "sparse"
    settings_to_try: ClassVar[Mapping[str, Settings]]  # settings by the suffix of the candidate's name

    def portfolio(self, facts: DataFacts) -> tuple[DefaultConfig, ...]:
        shares = facts.columns >= WORDS and "number" in facts.kinds
        encoders: Mapping[Kind, str] = {"number": "number_shares"} if shares else {}
        return tuple(
            DefaultConfig(f"{self.name}{end}", settings, self.description, self.rank + 10 * place, encoders=encoders)
            for place, (end, settings) in enumerate(self.settings_to_try.items())
        )


class _Averaged(_OfNodes):
    measured = Measured(0.05, 1.5e-7, kilobytes=500.0, row=2.0, milliseconds=8.0, by_output=True)
    hops_to_try: ClassVar[Mapping[str, tuple[int, ...]]]  # numbers of hops by the value of the setting `hops`
    estimator_name: ClassVar[str] = "PropagatedClassifier"

    def estimator(self, settings: Settings, setup: TrainingSetup, rounds: int | None = None) -> Call:
        penalty = {"C": settings.get("C", 10.0), "max_iter": 300, "tol": 1e-3}
        hops = self.hops_to_try[str(settings.get("hops") or next(iter(self.hops_to_try)))]
        inner = Call("sklearn.linear_model.LogisticRegression", penalty)
        rest = {name: value for name, value in settings.items() if name not in ("C", "hops")}
        return Call(f"{PROPAGATION}.{self.estimator_name}", {"estimator": inner, "hops": list(hops), **rest})

    def ranges(self, facts: DataFacts) -> Mapping[str, Range]:
        usual = next(iter(self.hops_to_try))
        return {
            "C": Range(0.1, 100.0, 10.0, "inverse strength of the L2 penalty", log=True),
            "hops": Range.choice(*self.hops_to_try, default=usual, note="times features are averaged"),
        }


class SimplifiedConvolution(_Averaged):
    name = "sgc"
    families = FAMILIES | {"simplified_graph_convolution"}
    description = "Logistic regression of features that were averaged over neighbours."
    rank = 0.1
    hops_to_try: ClassVar = {"2": (2,), "3": (3,), "1": (1,), "4": (4,)}
    settings_to_try: ClassVar = {"": {}, "-far": {"hops": "3"}}


class Neighbourhood(_Averaged):
    name = "neighbourhood"
    families = FAMILIES
    description = "Logistic regression of a node's own features beside those averaged over its neighbours."
    rank = 0.3
    hops_to_try: ClassVar = {"0-2": (0, 1, 2), "0-1": (0, 1), "0-3": (0, 1, 2, 3)}
    settings_to_try: ClassVar = {"": {}}


class LabelSmoothing(_Averaged):
    name = "label_smoothing"
    families = FAMILIES | {"label_propagation"}
    description = "Logistic regression whose probabilities are averaged over neighbours, with their known classes."
    rank = 0.4
    estimator_name = "SmoothedClassifier"
    hops_to_try: ClassVar = {"1": (1,), "0": (0,), "2": (2,), "0-2": (0, 1, 2)}
    settings_to_try: ClassVar = {"": {}, "-features": {"hops": "0"}}

    def ranges(self, facts: DataFacts) -> Mapping[str, Range]:
        share = Range(0.3, 0.95, 0.85, "of neighbours, against a node's own probabilities")
        return {**super().ranges(facts), "share": share}


class _NodeNetwork(NetworkLearner, _OfNodes):
    patience = 40
    measured = Measured(1.5, 5e-7, kilobytes=400.0, row=2.0, milliseconds=12.0)
    families = FAMILIES | {"neural_network", "graph_neural_network", "deep_learning"}
    settings_to_try: ClassVar = {"": {}}
    path: ClassVar[str] = "palmette.automl.learners.graph.graph_networks.GraphNetworkClassifier"
    network: ClassVar[str]  # import path of its layers

    def estimator(self, settings: Settings, setup: TrainingSetup, rounds: int | None = None) -> Call:
        given = {"network": Name(self.network), "epochs": rounds or MOST_EPOCHS, **settings, "random_state": setup.seed}
        return Call(self.path, given)

    def ranges(self, facts: DataFacts) -> Mapping[str, Range]:
        return {
            "width": Range.whole(16, 128, 64, "units of the hidden layer", log=True),
            "dropout": Range(0.2, 0.8, 0.5),
            "lr": Range(2e-3, 5e-2, 1e-2, "learning rate", log=True),
            "weight_decay": Range(1e-5, 5e-3, 5e-4, log=True),
        }


class GraphConvolution(_NodeNetwork):
    name = "gcn"
    description = "Two graph convolutions: a network whose layers average over neighbours."
    rank = 0.5
    network = "palmette.automl.learners.graph.graph_networks.GraphConvolutions"


class GeneralisedPageRank(_NodeNetwork):
    name = "gpr_gnn"
    description = "A network of features, averaged over learnt distances; it also learns where neighbours differ."
    rank = 0.2
    network = "palmette.automl.learners.graph.graph_networks.PageRankNetwork"


class GraphAttention(_NodeNetwork):
    name = "gat"
    families = _NodeNetwork.families | {"torch_geometric"}
    requires = ("torch", "torch_geometric")
    description = "A network that weighs neighbours by learnt attention, in PyTorch Geometric."
    rank = 0.6
    network = "palmette.automl.learners.graph.attention.AttentionNetwork"
    path = "palmette.automl.learners.graph.attention.AttentionClassifier"
