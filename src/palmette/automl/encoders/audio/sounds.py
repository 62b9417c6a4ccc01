"""Reads sound files as waves, and computes spectrograms."""

from __future__ import annotations

import io
from functools import cache
from typing import Any

import numpy as np
import soundfile
from scipy.signal import resample_poly

from palmette.automl.encoders.file_cells import file_content, read_once

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
