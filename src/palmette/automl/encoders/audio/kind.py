"""Sounds as a kind of column."""

import base64
import io

import numpy as np

from palmette.automl.kinds import FileKind

MAGIC = (b"fLaC", b"OggS", b"ID3", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2", b"\xff\xfa", b".snd")
PLAYED, RANGE = 10, 12.0
"""Seconds of a sound in the report, and the range of its spectrogram as a natural logarithm of energy."""


class Sounds(FileKind):
    name = "audio"
    media = "audio/"
    suffixes = (".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff", ".au")
    reader = "palmette.automl.encoders.audio.sounds.wave_of"
    requires = ("soundfile", "scipy")
    width = 40

    def knows(self, head: bytes) -> bool:
        wave = head[:4] in (b"RIFF", b"RF64") and head[8:12] == b"WAVE"
        return wave or head.startswith(MAGIC) or (head[:4] == b"FORM" and head[8:12] in (b"AIFF", b"AIFC"))

    def fingerprint(self, content: bytes) -> int:
        import soundfile

        from palmette.automl.encoders.audio.sounds import wave_of

        wave_of(content)
        if not soundfile.info(io.BytesIO(content)).frames:
            raise ValueError("it has no sound")
        return 0

    def examples(self) -> tuple[bytes, ...]:
        import soundfile

        times, made = np.arange(4000) / 8000, []
        for hertz in (220, 440, 880, 1760):
            file = io.BytesIO()
            soundfile.write(file, 0.3 * np.sin(2 * np.pi * hertz * times) * np.hanning(4000), 8000, format="FLAC")
            made.append(file.getvalue())
        return tuple(made)

    def shown(self, content: bytes) -> str:
        import soundfile
        from PIL import Image

        from palmette.automl.encoders.audio.sounds import RATE, log_mel, wave_of

        wave, picture, sound = wave_of(content)[: PLAYED * RATE], io.BytesIO(), io.BytesIO()
        energy = log_mel(wave).T[::-1]
        energy = np.maximum(energy, energy.max() - RANGE)
        grey = 255 * (energy.max() - energy) / max(float(np.ptp(energy)), 1e-6)
        Image.fromarray(grey.astype(np.uint8)).resize((320, 128)).save(picture, "PNG")
        soundfile.write(sound, wave, RATE, format="OGG")
        image, player = (base64.b64encode(one.getvalue()).decode() for one in (picture, sound))
        return (
            f'<img alt="spectrogram" src="data:image/png;base64,{image}">'
            f'<audio controls preload="none" src="data:audio/ogg;base64,{player}"></audio>'
        )
