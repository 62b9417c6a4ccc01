"""What a request asks for: `Requirements`, in the six parts that AutoML-Agent gives them (its section D.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import ConfigDict, Field

from palmette.automl.data.artefacts import Kind, Threshold
from palmette.documents import Model

Modality = Literal["tabular", "text", "image", "audio", "time series", "graph"]
Task = Literal["classification", "regression", "clustering", "forecasting", "node classification"]
Metric = Literal[
    "accuracy", "balanced_accuracy", "f1", "f1_macro", "f1_weighted", "precision", "recall", "roc_auc", "log_loss",
    "average_precision", "mcc", "kappa", "quadratic_kappa", "rmse", "mse", "mae", "mape", "medae", "r2", "rmsle",
    "rmse_log", "rand", "adjusted_rand", "silhouette", "nmi", "smape", "mase",
]  # fmt: skip
Quantity = Literal["score", "training time", "prediction time", "model size", "parameters"]
Comparison = Literal[">=", ">", "<=", "<"]
Mood = Literal["must", "may", "not", "baseline"]
Preference = Literal[
    "accuracy", "speed", "small", "explainable", "simple", "robust", "calibrated", "fair", "cheap", "private",
]  # fmt: skip
Deliverable = Literal[
    "model", "code", "report", "metrics", "hyperparameters", "confusion matrix", "roc curve", "feature importance",
    "explanations", "plots", "predictions", "submission", "endpoint", "web page", "model card", "notebook", "container",
]  # fmt: skip
Hub = Literal["uci", "openml", "huggingface", "kaggle", "planetoid", "sklearn", "library"]


class ColumnHint(Model):
    """What is known about a column when the request is read."""

    kind: Kind
    distinct: int | None = None
    """Number of distinct values; None where it was not counted."""
    examples: tuple[str, ...] = ()
    """Some of its values, as text."""


class NamedColumn(ColumnHint):
    """A column of a data set, with what is needed of it here."""

    model_config = ConfigDict(extra="ignore")

    name: str


class DataSummary(Model):
    """What reading a request needs of the data; a whole data set may stand in its place."""

    model_config = ConfigDict(extra="ignore")

    columns: tuple[NamedColumn, ...] = ()

    @property
    def hints(self) -> dict[str, ColumnHint]:
        """By name, in the order of the data."""
        return {one.name: one for one in self.columns}


class Request(Model):
    """What somebody wants: their words, and the files that they gave."""

    text: str = ""
    files: tuple[str, ...] = ()


class Constraint(Model):
    """A number that the delivered model must keep to."""

    quantity: Quantity
    metric: Metric | None = None
    """Of a score; None where the request names none."""
    comparison: Comparison
    value: float
    """A score as the metric gives it (0.95 for 95 %), times in seconds, size in bytes, parameters as a count."""
    per: Literal["row", "set"] | None = None
    """Of a prediction time: for one row, or for all rows of a test set."""
    words: str
    """The words it was read from."""

    def __str__(self) -> str:
        of = self.metric if self.quantity == "score" and self.metric else self.quantity
        return f"{of} {self.comparison} {self.value:g}" + (f" per {self.per}" if self.per else "")


class AlgorithmWish(Model):
    """An algorithm, or a family of them, that the request names."""

    name: str
    """As in `vocabulary.yaml`, e.g. `lightgbm`, `linear`, `neural_network`."""
    mood: Mood
    """`must`: the delivered model is one of these; `may`: to be tried first; `not`: never; `baseline`: to beat."""
    pretrained: bool = False
    words: str


class Named(Model):
    """Something from a closed list, with the words that asked for it."""

    words: str


class PreferenceWish(Named):
    """What matters more than usual, without a number."""

    name: Preference


class DeliverableWish(Named):
    """Something to be handed over beside the prediction itself."""

    name: Deliverable


class HubReference(Model):
    """A data set by name in a public collection."""

    hub: Hub
    """`library` where any library that has it will do."""
    id: str
    """Its number or its name there."""
    words: str


class SplitWish(Model):
    """How the rows are to be divided."""

    parts: tuple[Literal["train", "valid", "test"], ...] = ()
    fractions: Mapping[Literal["train", "valid", "test"], float] = Field(default_factory=dict)
    """By part: its share of the rows."""
    folds: int | None = None
    """Of a cross-validation; 0 where the request leaves the number open."""
    by: Literal["time", "group", "stratified", "random"] | None = None
    group: str = ""
    """Of a division by groups: the column whose equal values must stay in one part, e.g. that of the customers."""
    test_from: str = ""
    """Where the rows to test on begin, as far as it is named: `2024`, `2024-03`, `2024-03-15`, `--03` for the last
    March; or how long before the end of the data: `P3M`."""
    undivided: bool = False
    """The request says that the data have not been divided yet."""


class Sequence(Model):
    """The lengths of a forecast, in steps of the series or in `unit`."""

    input_length: int | None = None
    input_dim: int | None = None
    horizon: int | None = None
    output_dim: int | None = None
    unit: str = ""
    """E.g. `day`; empty for steps."""


class Excluded(Model):
    """A column that must not be used."""

    column: str
    words: str


class UserPart(Model):
    intent: Literal["build", "consult", "unclear"] = "build"
    """Whether a model is wanted, or an explanation."""
    expertise: Literal["low", "medium", "high"] = "medium"


class ProblemPart(Model):
    area: str = ""
    """E.g. `tabular data analysis`; it follows from the modality."""
    task: Task | None = None
    domain: str = ""
    """The field of application, e.g. `agriculture`; empty where the words do not tell."""
    description: str = ""
    """The sentence that says what is to be done, as written."""
    metric: Metric | None = None
    """What the outcome is scored with; None where the request leaves it open."""
    constraints: tuple[Constraint, ...] = ()
    classes: tuple[str, ...] = ()
    """The names of the classes, as written."""
    positive: str = ""
    """The value of the target that a metric such as F1, precision or recall is about, as the column has it."""
    threshold: Threshold | None = None
    """What makes two classes of the column to predict, which holds numbers."""
    n_classes: int | None = None
    n_clusters: int | None = None
    least_clusters: int | None = None
    """Of a clustering whose number of clusters is to be found: the fewest that are wanted."""
    most_clusters: int | None = None


class DatasetPart(Model):
    name: str = ""
    modality: Modality | None = None
    target: str = ""
    """What is to be predicted, as written; of a clustering, the labels that the groups are compared with, if any."""
    target_column: str = ""
    """The column of the file that this is; empty while no columns are known, or for a clustering without labels."""
    features: tuple[str, ...] = ()
    """What the prediction may rest on, as far as the request lists it, as written."""
    excluded: tuple[Excluded, ...] = ()
    files: tuple[str, ...] = ()
    """Files that the request names."""
    hub: tuple[HubReference, ...] = ()
    source: Literal["upload", "hub", "unknown"] = "unknown"
    split: SplitWish | None = None
    sequence: Sequence | None = None
    preprocessing: tuple[str, ...] = ()
    """Wishes for the preparation of the data, as written."""
    augmentation: tuple[str, ...] = ()


class ModelPart(Model):
    algorithms: tuple[AlgorithmWish, ...] = ()
    libraries: tuple[str, ...] = ()
    """Libraries that the request names, e.g. `pytorch`."""


class KnowledgePart(Model):
    preferences: tuple[PreferenceWish, ...] = ()
    hints: tuple[str, ...] = ()
    """Sentences that say something about the data that no column shows, as written."""


class ServicePart(Model):
    deliverables: tuple[DeliverableWish, ...] = ()
    devices: tuple[str, ...] = ()
    """Where it will run, e.g. `cpu`, `raspberry pi`."""


class Assumption(Model):
    """What the request does not say and was supposed."""

    field: str
    """E.g. `dataset.target_column`."""
    value: str
    why: str


class Requirements(Model):
    """A request, understood."""

    text: str
    """The request as written."""
    user: UserPart = UserPart()
    problem: ProblemPart = ProblemPart()
    dataset: DatasetPart = DatasetPart()
    model: ModelPart = ModelPart()
    knowledge: KnowledgePart = KnowledgePart()
    service: ServicePart = ServicePart()
    evidence: Mapping[str, str] = Field(default_factory=dict)
    """By field, e.g. `problem.task`: the words of the request that it was read from. Lists carry theirs themselves."""
    assumptions: tuple[Assumption, ...] = ()
    unread: tuple[str, ...] = ()
    """Words that look like a wish and that nothing else here rests on: nothing keeps to them, a person should look."""


class Question(Model):
    """The one thing that has to be asked, with what is done when nobody answers."""

    about: Literal["dataset.target_column", "problem.task", "problem.metric"]
    text: str
    options: tuple[str, ...]
    """The possible answers; the first is the default."""
    blind: bool = False
    """Whether nothing speaks for the default: what the request names is not there. Only a person may take it then."""

    @property
    def default(self) -> str:
        return self.options[0]


class Refusal(Model):
    """Why a request cannot be worked on."""

    code: Literal["irrelevant", "question", "no-data", "no-target"]
    reason: str
    example: str
    """A request that could be worked on."""


class Verification(Model):
    """A request that is worked on, with what was asked about it."""

    reason: str
    """Why it is taken on."""
    question: Question | None = None
    answer: str = ""
    """What the question was answered with: by a person, else the default."""
    by_person: bool = False

    @property
    def answers(self) -> dict[str, str]:
        """By what it is about: the answer."""
        return {self.question.about: self.answer} if self.question else {}


class Understanding(Model):
    """What the rules understand of a request. The requirements already hold the default of the question."""

    requirements: Requirements
    question: Question | None = None
    refusal: Refusal | None = None
