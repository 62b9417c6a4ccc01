"""Encoders of sounds."""

from palmette.automl.encoders.encoder import DataFacts, DefaultConfig
from palmette.automl.encoders.shared import FromFolder, Scored, VectorEncoder

FEATURES = "palmette.automl.encoders.audio.sounds"


class _Sounds(VectorEncoder):
    kind = "audio"
    requires = ("soundfile", "scipy")


class Statistics(_Sounds):
    name = "audio_statistics"
    description = "Statistics of the cepstrum and its changes: what a sound is made of, whenever it occurs."
    features, cell = 170, 0.002
    path = f"{FEATURES}.SpectrumStatistics"


class StatisticsScores(Scored, Statistics):
    name = "audio_scores"
    description = "What statistics of sounds say about the target, by a cross-fitted regression for each column."


class Kernels(_Sounds):
    name = "audio_kernels"
    usual = False
    description = "How often and how strongly five hundred random kernels answer to the spectrogram: what happens when."
    features, cell = 1000, 0.005
    path = f"{FEATURES}.RandomKernels"

    def starts(self, facts: DataFacts) -> tuple[DefaultConfig, ...]:
        kernels = "on answers of random kernels to the spectrogram"
        strength = {"C": 0.01} if facts.classes else {"alpha": 1000.0}
        return (DefaultConfig("linear", strength, kernels, 0.2), DefaultConfig("svc", {}, kernels, 0.6))


class Spectrogram(_Sounds):
    name = "audio_spectrogram"
    usual = False
    description = "The spectrogram at 32 by 32: for short sounds with one event."
    features, cell = 1024, 0.002
    path = f"{FEATURES}.SmallSpectrogram"

    def starts(self, facts: DataFacts) -> tuple[DefaultConfig, ...]:
        return (DefaultConfig("svc", {}, "on the whole spectrogram", 0.4),)


class AudioFolder(FromFolder):
    name = "audio_folder"
    kind = "audio"
    description = "Vectors of sounds by the network in a folder of $PALMETTE_MODELS, such as wav2vec2 or CLAP."
    path = "palmette.automl.encoders.audio.network_sounds.SoundNetworkVectors"
    pieces = 150
    rank = 0.15
