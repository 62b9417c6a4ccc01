"""Images as a kind of column."""

import base64
import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from palmette.automl.kinds import FileKind

MAGIC = (b"\xff\xd8\xff", b"\x89PNG\r\n", b"GIF8", b"BM", b"II*\0", b"MM\0*")
HASHED, WAVES = 32, 8  # side in pixels of the small picture, and of its lowest frequencies, for the fingerprint
THUMBNAIL = 160  # longer side, in pixels, of a picture in the report
GRID, MARK = 6, (255, 40, 0)
"""Number of parts per side that are covered in turn, and the colour that marks the parts that matter."""


class Images(FileKind):
    name = "image"
    media = "image/"
    suffixes = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff")
    reader = "palmette.automl.encoders.image.pictures.picture_of"
    requires = ("PIL",)
    width = 60

    def knows(self, head: bytes) -> bool:
        return head.startswith(MAGIC) or (head[:4] == b"RIFF" and head[8:12] == b"WEBP")

    def fingerprint(self, content: bytes) -> int:
        """Encodes which low frequencies of a small grey copy are strong; robust to scaling, compression and noise."""
        from PIL import Image
        from scipy.fft import dctn

        from palmette.automl.encoders.image.pictures import picture_of

        picture = Image.fromarray(picture_of(content)).convert("L")
        small = np.asarray(picture.resize((HASHED, HASHED), Image.Resampling.BOX), dtype=float)
        if np.ptp(small) < 8:
            return 0  # flat pictures are not alike just because they are flat
        waves = dctn(small)[:WAVES, :WAVES]
        return int.from_bytes(np.packbits(waves > np.median(waves)).tobytes())

    def of_numbers(self, values: Sequence[object]) -> bytes:
        from palmette.automl.encoders.image.pictures import picture_of

        return _png(picture_of(values))

    def examples(self) -> tuple[bytes, ...]:
        rows, columns = np.mgrid[0:32, 0:32] * 8
        reds = (rows, columns, rows // 2 + columns // 2, (rows // 32 + columns // 32) % 2 * 255)
        return tuple(_png(np.stack([red, 255 - red, columns], axis=-1).astype(np.uint8)) for red in reds)

    def covered(self, content: bytes) -> tuple[bytes, ...]:
        """Replaces one square after the other of a six-by-six grid by the mean colour, row by row."""
        from palmette.automl.encoders.image.pictures import picture_of

        picture, made = picture_of(content), []
        rows, columns = (np.linspace(0, size, GRID + 1).astype(int) for size in picture.shape[:2])
        for place in range(GRID**2):
            down, right = divmod(place, GRID)
            part = picture.copy()
            part[rows[down] : rows[down + 1], columns[right] : columns[right + 1]] = picture.mean(axis=(0, 1))
            made.append(_png(part))
        return tuple(made)

    def shown(self, content: bytes) -> str:
        return self.marked(content, ())

    def marked(self, content: bytes, changes: Sequence[float]) -> str:
        from PIL import Image

        from palmette.automl.encoders.image.pictures import picture_of, resized

        picture, file = Image.fromarray(picture_of(content)), io.BytesIO()
        scale = THUMBNAIL / max(picture.size)
        picture = picture.resize((max(1, round(picture.width * scale)), max(1, round(picture.height * scale))))
        if changes:
            parts = np.clip(np.reshape(changes, (GRID, GRID)), 0, None)
            heat = np.repeat((255 * parts / max(parts.max(), 1e-9)).astype(np.uint8)[..., None], 3, axis=2)
            strength = 0.6 / 255 * resized(heat, *picture.size).astype(float)
            mixed = (1 - strength) * np.asarray(picture) + strength * np.array(MARK)
            picture = Image.fromarray(mixed.astype(np.uint8))
        picture.save(file, "JPEG", quality=75)
        return f'<img alt="" src="data:image/jpeg;base64,{base64.b64encode(file.getvalue()).decode()}">'


def _png(picture: Any) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(picture).save(file, "PNG")
    return file.getvalue()
