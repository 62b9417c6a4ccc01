"""Sound files as waves, and their features: spectral statistics, responses of random kernels, small spectrograms."""

import io
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import soundfile
from scipy.fft import dct
from scipy.ndimage import zoom
from scipy.signal import resample_poly
from threadpoolctl import threadpool_limits

from palmette.automl.encoders.transformers import Stateless, features_of, file_content, read_once

RATE = 16_000  # samples per second of every wave
LONGEST = 30  # most seconds that are kept, from the middle
WINDOW, HOP, BANDS = 400, 160, 64  # 25 and 10 milliseconds in samples; mel bands
QUIET = 5.0  # nats below the loudest frame at which both ends are trimmed


@read_once
def wave_of(cell: Any) -> np.ndarray:
    """Reads a sound as a float32 wave (n,): one channel, 16,000 samples per second, at most 30 seconds; a short silence
    for a missing value or an empty file. A cell is the content of a file, its path, or a `data:` URL."""
    content = file_content(cell)
    if content is None:
        return np.zeros(WINDOW, dtype="float32")
    try:
        with soundfile.SoundFile(io.BytesIO(content)) as file:
            rate, most = file.samplerate, LONGEST * file.samplerate
            if file.frames > most:
                file.seek((file.frames - most) // 2)
            values = file.read(most, dtype="float32", always_2d=True).mean(axis=1)
    except (soundfile.LibsndfileError, RuntimeError, TypeError) as error:
        raise ValueError(str(error).rpartition(": ")[2].rstrip(".")) from None
    values = np.nan_to_num(values, posinf=0, neginf=0).clip(-10, 10)
    if rate != RATE and len(values):
        common = np.gcd(RATE, rate)
        values = resample_poly(values, RATE // common, rate // common)
    return np.pad(values, (0, max(0, WINDOW - len(values)))).astype("float32")


def log_mel(wave: np.ndarray) -> np.ndarray:
    """Returns the logarithms of energy in mel bands, (frames, 64), with quiet ends trimmed."""
    frames = np.lib.stride_tricks.sliding_window_view(wave, WINDOW)[::HOP] * np.hanning(WINDOW).astype("float32")
    power = np.abs(np.fft.rfft(frames, 512, axis=1)) ** 2
    energy = np.log(power.astype("float32") @ mel_filters() + 1e-6)
    loudness = energy.mean(axis=1)
    loud = np.flatnonzero(loudness > loudness.max() - QUIET)
    return energy[loud[0] : loud[-1] + 1]


@cache
def mel_filters() -> np.ndarray:
    """Returns triangular mel filters (257, 64) over the frequencies of a spectrum."""
    top = 2595 * np.log10(1 + RATE / 2 / 700)
    edges = 700 * (10 ** (np.linspace(0, top, BANDS + 2) / 2595) - 1)
    hertz = np.fft.rfftfreq(512, 1 / RATE)[:, None]
    rise, fall = (hertz - edges[:-2]) / np.diff(edges)[:-1], (edges[2:] - hertz) / np.diff(edges)[1:]
    return np.clip(np.minimum(rise, fall), 0, None).astype("float32")


COEFFICIENTS, KERNEL, FRAMES = 20, 9, 400  # of the cepstrum; frames per kernel; frames of a sound that kernels see
SMALL = 32  # frames and bands of a small spectrogram


class SoundFeatures(Stateless):
    """Computes features of each sound in each column; there is nothing to fit."""

    def transform(self, X: pd.DataFrame) -> np.ndarray:
        with threadpool_limits(1):  # threads slow each other down on one sound
            return features_of(pd.DataFrame(X), lambda waves: map(self.sound, waves))

    def sound(self, wave: np.ndarray) -> np.ndarray:
        """Returns the features (d,) of a wave (n,)."""
        raise NotImplementedError


class SpectrumStatistics(SoundFeatures):
    """Summarizes a sound: mean, spread and quartiles of the cepstrum, its changes and the centroid; its length."""

    def sound(self, wave: np.ndarray) -> np.ndarray:
        energy = log_mel(wave)
        cepstrum = dct(energy, norm="ortho", axis=1)[:, :COEFFICIENTS]
        shares = np.exp(energy - energy.max(axis=1, keepdims=True))
        centre = (shares * np.arange(BANDS)).sum(axis=1, keepdims=True) / shares.sum(axis=1, keepdims=True)
        values = np.hstack([cepstrum, centre])
        changes = np.diff(values, axis=0) if len(values) > 1 else np.zeros_like(values)
        found = [
            np.concatenate([one.mean(axis=0), one.std(axis=0), np.percentile(one, [25, 75], axis=0).ravel()])
            for one in (values, changes)
        ]
        crossings = float((np.diff(np.signbit(wave)) != 0).mean())
        return np.concatenate([*found, [len(energy) * HOP / RATE, crossings]]).astype("float32")


@dataclass(eq=False, repr=False)
class RandomKernels(SoundFeatures):
    """Measures how often and how strongly random kernels respond to the spectrogram (Dempster et al., 2020)."""

    kernels: int = 500  # kernels; each gives two features

    def sound(self, wave: np.ndarray) -> np.ndarray:
        energy = pooled(log_mel(wave))
        energy = (energy - energy.mean()) / (energy.std() + 1e-3)
        found = []
        for dilation, (weights, biases) in zip((1, 2, 4, 8), random_kernels(self.kernels), strict=True):
            reach = dilation * (KERNEL - 1)
            padded = np.pad(energy, ((reach // 2, reach - reach // 2), (0, 0)))
            steps = [padded[dilation * step : dilation * step + len(energy)] for step in range(KERNEL)]
            answers = np.hstack(steps) @ weights + biases
            found += [(answers > 0).mean(axis=0), answers.max(axis=0)]
        return np.concatenate(found).astype("float32")


class SmallSpectrogram(SoundFeatures):
    """Scales the spectrogram of a sound to one size."""

    def sound(self, wave: np.ndarray) -> np.ndarray:
        energy = log_mel(wave)
        energy = np.pad(energy, ((0, max(0, 2 - len(energy))), (0, 0)), mode="edge")
        small = zoom(energy, (SMALL / len(energy), SMALL / BANDS), order=1, grid_mode=True, mode="nearest")
        return ((small - small.mean()) / (small.std() + 1e-3)).ravel().astype("float32")


def pooled(energy: np.ndarray) -> np.ndarray:
    """Averages neighbouring frames until few are left."""
    step = -(-len(energy) // FRAMES)
    return np.add.reduceat(energy, np.arange(0, len(energy), step)) / step if step > 1 else energy


@cache
def random_kernels(count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Returns weights (frames * bands, k) and biases (k,) for each of four dilations; always the same ones."""
    random, made = np.random.default_rng(0), []
    for _ in range(4):
        weights = np.zeros((KERNEL, BANDS, count // 4), dtype="float32")
        for kernel in range(count // 4):
            first, width = random.integers(0, BANDS), random.integers(1, 9)
            chosen = slice(first, first + width)
            values = random.normal(size=(KERNEL, len(range(*chosen.indices(BANDS)))))
            weights[:, chosen, kernel] = (values - values.mean()) / np.sqrt(values.size)
        made.append((weights.reshape(KERNEL * BANDS, -1), random.uniform(-1, 1, count // 4).astype("float32")))
    return made
