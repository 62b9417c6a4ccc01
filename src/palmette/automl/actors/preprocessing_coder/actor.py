"""The actor `preprocessing_coder`: adds features that follow from the meaning of the columns, and runs them at once."""

from palmette.automl.actors.coder import Coder, CoderInput, FeaturesAnswer


class PreprocessingCoder(Coder):
    """The registered encoders read every column; a model may add features, which are measured as own candidates."""

    name = "preprocessing_coder"
    description = "Writes features that follow from the meaning of the columns, and runs them against the contract."
    produces = "preprocessing"
    Input = CoderInput
    Answer = FeaturesAnswer
    owns = ("contract-unfulfilled", "reaches-outside")
