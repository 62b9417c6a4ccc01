"""Folders, archives and tables of files: rows that are read, files that are left out, and the repairs reported."""

import base64
import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pd = pytest.importorskip("pandas", reason="pandas is not installed")
pytest.importorskip("PIL", reason="Pillow is not installed")

from PIL import Image  # noqa: E402 - as above

from palmette.automl.encoders.columns import with_arrays  # noqa: E402 - as above
from palmette.automl.encoders.image.pictures import picture_of  # noqa: E402 - as above
from palmette.automl.encoders.transformers import file_content  # noqa: E402 - as above
from palmette.automl.endpoint.delivered import rows_of_file  # noqa: E402 - as above
from palmette.automl.kinds import (  # noqa: E402 - as above
    as_url,
    file_kinds,
    with_contents,
)
from palmette.automl.samples import Loaded  # noqa: E402 - as above
from palmette.automl.samples.files import with_texts  # noqa: E402 - as above
from palmette.automl.samples.load import load, reload  # noqa: E402 - as above
from palmette.errors import InputError, UserError  # noqa: E402 - as above


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def picture(seed: int, mode: str = "RGB", form: str = "PNG", size: tuple[int, int] = (20, 12)) -> bytes:
    values = np.random.default_rng(seed).integers(0, 255, (size[1], size[0], 4), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(values, "RGBA").convert(mode).save(file, form)
    return file.getvalue()


def write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def folder(root: Path, parts: tuple[str, ...] = ("",)) -> Path:
    for number, part in enumerate(parts):
        for label in ("cat", "dog"):
            for place in range(4):
                write(root / part / label / f"{place}.png", picture(hash((number, label, place)) % 10_000))
    return root


def reported(loaded: Loaded) -> dict[str, int]:
    return {one.code: one.count for one in loaded.samples.repairs}


def test_a_folder_for_each_class(tmp_path: Path) -> None:
    loaded = load([folder(tmp_path / "pets")])
    assert {one.name: one.kind for one in loaded.samples.columns} == {"image": "image", "label": "category"}
    assert loaded.samples.targets == ("label",)
    assert loaded.table["label"].value_counts().to_dict() == {"cat": 4, "dog": 4}
    assert reload(loaded.samples).table.equals(loaded.table)


def test_dirty_files_are_named_and_left_out(tmp_path: Path) -> None:
    root = folder(tmp_path / "pets")
    write(root / "cat" / "broken.jpg", b"\xff\xd8\xff nothing")
    write(root / "cat" / "cut.png", picture(1)[:60])
    write(root / "fish" / "cut.png", picture(1)[:60])
    write(root / "cat" / "empty.png", b"")
    write(root / "dog" / "named_wrongly.dat", picture(2, form="JPEG"))
    write(root / "dog" / "again.png", (root / "dog" / "0.png").read_bytes())
    write(root / "dog" / "pixel.png", picture(3, size=(1, 1)))
    write(root / "dog" / "notes.txt", b"words")
    write(root / "lost.png", picture(4))
    loaded = load([root])
    assert len(loaded.table) == 11
    assert "'fish'" in next(one.text for one in loaded.samples.repairs if one.code == "lost-labels")
    once = ("lost-labels", "repeated-files", "other-files", "other-suffix", "unlabelled-files")
    assert reported(loaded) == {"unreadable-files": 4, **dict.fromkeys(once, 1)}
    assert "broken.jpg" in next(one.text for one in loaded.samples.repairs if one.code == "unreadable-files")
    assert loaded.table["image"].nunique() == 10


@pytest.mark.parametrize("parts", [("train", "test"), ("training", "valid", "test")])
def test_folders_of_parts_are_the_split(tmp_path: Path, parts: tuple[str, ...]) -> None:
    loaded = load([folder(tmp_path / "pets", parts)])
    assert (loaded.samples.rows, loaded.samples.test_rows) == (8 * len(parts), 8)


def test_a_folder_without_a_readable_file_names_some(tmp_path: Path) -> None:
    for place in range(3):
        write(tmp_path / "junk" / "cat" / f"{place}.png", b"junk")
    with pytest.raises(InputError) as caught:
        load([tmp_path / "junk"])
    (problem,) = caught.value.problems
    assert problem.code == "no-data" and "0.png" in problem.message


def test_a_test_folder_without_labels_is_to_be_predicted(tmp_path: Path) -> None:
    root = folder(tmp_path / "pets", ("train",))
    write(root / "test" / "a.png", picture(5))
    loaded = load([root])
    assert (loaded.samples.rows, loaded.samples.inference_rows) == (8, 1)
    assert loaded.samples.targets == ("label",)


def test_a_table_names_files_beside_it(tmp_path: Path) -> None:
    names = [f"pictures/{place}.png" for place in range(6)]
    for place, name in enumerate(names[:5]):
        write(tmp_path / "set" / name, picture(place))
    write(tmp_path / "set" / "pictures" / "more.png", picture(9))
    rows = pd.DataFrame({"picture": [*names, ""], "speed": range(7), "size": [0.5 * place for place in range(7)]})
    rows.to_csv(tmp_path / "set" / "labels.csv", index=False)
    for place in (tmp_path / "set", tmp_path / "set" / "labels.csv"):
        loaded = load([place])
        assert len(loaded.table) == 7 and loaded.samples.columns[0].kind == "image"
        assert Path(loaded.table["picture"][0]).is_file() and reported(loaded)["missing-files"] == 1
        assert reported(loaded)["rows-without-file"] == 2
    assert reported(load([tmp_path / "set"]))["unlabelled-files"] == 1
    rows[["picture", "speed"]].to_csv(tmp_path / "set" / "labels.csv", index=False)
    loaded = load([tmp_path / "set"])
    assert len(loaded.table) == 5 and reported(loaded)["no-file"] == 2


def test_a_table_names_files_in_other_folders(tmp_path: Path) -> None:
    for place in range(4):
        write(tmp_path / "set" / "pictures" / "new" / f"{place}.png", picture(place))
    for form in ("pictures/new/{}.png", "pictures\\new\\{}.png", "./pictures/new/{}.png"):
        rows = pd.DataFrame({"file": [form.format(place) for place in range(4)], "speed": range(4)})
        (tmp_path / "set" / "labels").mkdir(exist_ok=True)
        rows.to_csv(tmp_path / "set" / "labels" / "labels.csv", index=False)
        for place in (tmp_path / "set", tmp_path / "set" / "labels" / "labels.csv"):
            assert load([place]).table["file"].map(lambda path: Path(path).is_file()).all()
    rows.assign(file=[f"{place}.png" for place in range(4)]).to_csv(tmp_path / "set" / "labels" / "labels.csv")
    assert load([tmp_path / "set"]).samples.columns[1].kind == "image"
    keys = pd.DataFrame({"key": list("0123"), "class": list("0101"), "number": range(4)})
    keys.to_csv(tmp_path / "set" / "labels" / "labels.csv", index=False)
    loaded = load([tmp_path / "set"])
    assert [one.kind for one in loaded.samples.columns] == ["image", "number", "number"] and not reported(loaded)


@pytest.mark.parametrize("key", ["id", "row"])
def test_answers_keep_the_names_of_files_or_the_numbers_of_rows(key: str, tmp_path: Path) -> None:
    rows = pd.DataFrame({"id": [f"photo{place}" for place in range(8)], "row": range(8), "kind": list("ababaaaa")})
    for place, name in enumerate(rows["id"]):
        write(tmp_path / "set" / "photos" / f"{name}.png", picture(place))
    parts = {"train": rows[:5], "test": rows[5:].drop(columns="kind"), "sample_submission": rows[:4:-1][[key, "kind"]]}
    for name, part in parts.items():
        part.to_csv(tmp_path / "set" / f"{name}.csv", index=False)
    loaded = load([tmp_path / "set"])
    assert loaded.samples.key == key and loaded.samples.columns[0].kind == "image" and not reported(loaded)
    assert loaded.submission is not None and loaded.submission[key].tolist() == [*rows[key][:4:-1].astype(str)]
    assert list(loaded.submission_order) == [2, 1, 0]


@pytest.mark.parametrize("form", ["bytes", "object", "base64", "url"])
def test_cells_hold_files(tmp_path: Path, form: str) -> None:
    files = [picture(place) for place in range(4)]
    texts = [base64.b64encode(one).decode() for one in files]
    objects = [{"bytes": one, "path": None} for one in files]
    cells = {"bytes": files, "object": objects, "base64": texts, "url": [f"data:;base64,{one}" for one in texts]}[form]
    frame = pd.DataFrame({"photo": [*cells, None], "label": list("abaab")})
    frame.to_parquet(tmp_path / "t.parquet")
    loaded = load([tmp_path / "t.parquet"])
    assert loaded.samples.columns[0].kind == "image" and len(loaded.table) == 4
    assert with_contents(loaded.table, ["photo"])["photo"].tolist() == files
    assert [file_content(cell) for cell in frame["photo"]] == [*files, None]
    with pytest.raises(ValueError, match="not a file"):
        file_content({"bytes": str(tmp_path / "t.parquet")})
    assert with_contents(rows_of_file(tmp_path / "t.parquet"), ["photo"])["photo"].tolist() == [*files, None]


def test_a_zip_file_is_read_as_the_folder_in_it(tmp_path: Path) -> None:
    root = folder(tmp_path / "pets")
    with zipfile.ZipFile(tmp_path / "pets.zip", "w") as archive:
        for path in root.rglob("*.png"):
            archive.write(path, path.relative_to(tmp_path))
        archive.writestr("../outside.png", picture(7))
    loaded = load([tmp_path / "pets.zip"])
    assert len(loaded.table) == 8 and loaded.samples.targets == ("label",)
    assert not (tmp_path / "cache" / "outside.png").exists()


def test_arrays_of_images(tmp_path: Path) -> None:
    values = np.random.default_rng(0).integers(0, 255, (12, 8, 8), dtype=np.uint8)
    numbers = np.arange(12) % 2
    np.savez(tmp_path / "d.npz", x_train=values[:8], y_train=numbers[:8], x_test=values[8:], y_test=numbers[8:])
    loaded = load([tmp_path / "d.npz"])
    assert (loaded.samples.rows, loaded.samples.test_rows, loaded.samples.targets) == (12, 4, ("label",))
    np.savez(tmp_path / "f.npz", X=values / 255, y=numbers)
    made = [with_contents(one.table, ["image"])["image"] for one in (loaded, load([tmp_path / "f.npz"]))]
    assert set(made[0]) == set(made[1])
    for name, one in (("first", np.stack([values] * 3, 1)), ("last", values[..., None])):
        np.savez(tmp_path / f"{name}.npz", images=one, labels=numbers)
        assert len(load([tmp_path / f"{name}.npz"]).table) == 12
    np.savez(tmp_path / "table.npz", X=values[:, 0], y=numbers)
    with pytest.raises(InputError, match="no array of images"):
        load([tmp_path / "table.npz"])


def test_a_file_that_changes_ends_the_run(tmp_path: Path) -> None:
    loaded = load([folder(tmp_path / "pets")])
    write(tmp_path / "pets" / "cat" / "0.png", picture(77))
    with pytest.raises(UserError, match="changed"):
        reload(loaded.samples)


def test_masks_beside_pictures_are_reported(tmp_path: Path) -> None:
    place = folder(tmp_path / "tiles")
    assert "same-names" not in reported(load([place]))
    for number, path in enumerate([*place.rglob("*.png")]):
        write(path.with_suffix(".jpg"), picture(number, form="JPEG"))
    assert reported(load([place]))["same-names"] == 8


def test_files_are_handed_over_by_content(tmp_path: Path) -> None:
    write(tmp_path / "a.png", picture(1))
    frame = pd.DataFrame({"picture": [str(tmp_path / "a.png"), None]})
    assert with_contents(frame, ["picture"])["picture"].tolist() == [picture(1), None]
    assert str(as_url(str(tmp_path / "a.png"))).startswith("data:;base64,")


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF"])
@pytest.mark.parametrize("mode", ["RGB", "L", "RGBA", "LA", "P", "1", "I;16", "CMYK"])
def test_pictures_of_every_mode(form: str, mode: str) -> None:
    values, file = np.full((600, 300), 200, dtype=np.uint8), io.BytesIO()
    image = Image.fromarray(values.astype(np.uint16) * 256) if mode == "I;16" else Image.fromarray(values).convert(mode)
    try:
        image.save(file, form)
    except (OSError, ValueError):
        pytest.skip(f"{form} has no {mode}")
    made = picture_of(file.getvalue())
    assert made.shape == (512, 256, 3) and made.dtype == np.uint8
    assert file_kinds()["image"].knows(file.getvalue()[:16])


def test_pictures_are_turned_upright_and_transparency_is_white() -> None:
    file, orientation = io.BytesIO(), Image.Exif()
    orientation[0x0112] = 6
    Image.new("RGB", (40, 20)).save(file, "JPEG", exif=orientation)
    assert picture_of(file.getvalue()).shape == (40, 20, 3)
    clear = io.BytesIO()
    Image.new("RGBA", (2, 2), (0, 0, 0, 0)).save(clear, "PNG")
    assert (picture_of(clear.getvalue()) == 255).all()


def test_near_duplicates_have_near_fingerprints() -> None:
    kind, smooth = (
        file_kinds()["image"],
        Image.fromarray(np.add.outer(np.arange(200) % 90, np.arange(200)).astype("uint8")),
    )

    def fingerprint(size: int, quality: int) -> int:
        file = io.BytesIO()
        smooth.resize((size, size)).save(file, "JPEG", quality=quality)
        return kind.fingerprint(file.getvalue())

    assert (fingerprint(200, 95) ^ fingerprint(120, 40)).bit_count() <= 4
    assert (fingerprint(200, 95) ^ kind.fingerprint(picture(3, size=(200, 200)))).bit_count() > 10


@pytest.mark.parametrize("form", ["WAV", "FLAC", "OGG", "MP3"])
def test_sounds_of_every_format(form: str, tmp_path: Path) -> None:
    soundfile = pytest.importorskip("soundfile", reason="soundfile is not installed")
    from palmette.automl.encoders.audio.sounds import RATE, wave_of

    times = np.arange(22_050) / 22_050
    stereo = np.stack([0.5 * np.sin(2 * np.pi * 440 * times)] * 2, axis=1)
    file = io.BytesIO()
    soundfile.write(file, stereo, 22_050, format=form)
    wave = wave_of(file.getvalue())
    assert wave.ndim == 1 and abs(len(wave) - RATE) < RATE / 8 and 0.3 < np.abs(wave).max() < 0.7
    assert file_kinds()["audio"].knows(file.getvalue()[:16])


def test_long_silence_and_no_sound_are_short_waves(make_wave: Callable[[int], bytes]) -> None:
    from palmette.automl.encoders.audio.sounds import (
        LONGEST,
        RATE,
        RandomKernels,
        SmallSpectrogram,
        SpectrumStatistics,
        wave_of,
    )

    for content, length in ((make_wave(3600 * 8000), LONGEST * RATE), (make_wave(0), 400), (None, 400)):
        wave = wave_of(content)
        assert len(wave) == length
        for features in (SpectrumStatistics(), RandomKernels(40), SmallSpectrogram()):
            assert np.isfinite(features.sound(wave)).all()


@pytest.fixture
def make_wave() -> Callable[[int], bytes]:
    soundfile = pytest.importorskip("soundfile", reason="soundfile is not installed")

    def made(frames: int) -> bytes:
        file = io.BytesIO()
        soundfile.write(file, np.zeros(frames, dtype=np.int16), 8000, format="WAV")
        return file.getvalue()

    return made


def pixels(frame: pd.DataFrame, path: Path) -> Path:
    frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(path, index=False)
    return path


@pytest.mark.parametrize(("count", "top", "shape"), [(64, 16, (8, 8)), (64, 1, (8, 8)), (75, 255, (5, 5))])
def test_columns_of_pixels_are_images_where_the_request_asks_for_it(
    tmp_path: Path, count: int, top: int, shape: tuple[int, int]
) -> None:
    values = np.random.default_rng(0).integers(0, 2, (20, count)) * top
    frame = pd.DataFrame(values, columns=[f"pixel_{place}" for place in range(count)])
    path = pixels(frame.assign(digit=[place % 2 for place in range(20)]), tmp_path / "digits.csv")
    plain = load([path])
    assert "image" not in plain.table
    loaded = load([path], arrays=["image=pixel_*"])
    assert [*loaded.table] == ["digit", "image"] and reported(loaded)["arrays-made"] == 20
    picture = picture_of(loaded.table["image"][3])
    assert picture.shape == (*shape, 3) and {*np.unique(picture)} == {0, 255}
    assert reload(loaded.samples).table.equals(loaded.table)
    array = loaded.samples.column("image").array
    rows = with_arrays(frame.astype(str), {"image": (array.columns, array.top)})
    assert (picture_of(rows["image"][3]) == picture).all()


def test_lists_of_pixels_are_images(tmp_path: Path) -> None:
    values = np.random.default_rng(0).integers(0, 255, (12, 6, 7, 3))
    frame = pd.DataFrame({"scan": [one.tolist() for one in values], "y": range(12)})
    loaded = load([pixels(frame, tmp_path / "scans.parquet")], arrays=["image=scan"])
    assert {one.name: one.kind for one in loaded.samples.columns}["scan"] == "image"
    assert (picture_of(loaded.table["scan"][5]) == values[5]).all()
    rows = pd.read_parquet(tmp_path / "scans.parquet")
    made = with_arrays(rows, {"scan": (["scan"], 255.0)})
    assert (picture_of(made["scan"][5]) == values[5]).all()


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ("image=nothing*", "no-such-column"),
        ("picture=p*", "bad-array"),
        ("image=p*", "bad-array"),
        ("image=word", "bad-array"),
    ],
)
def test_arrays_that_make_no_file(tmp_path: Path, asked: str, code: str) -> None:
    path = pixels(pd.DataFrame({"p1": range(9), "p2": range(9), "word": list("abcdefghi")}), tmp_path / "a.csv")
    with pytest.raises(UserError) as caught:
        load([path], arrays=[asked])
    assert caught.value.code == code


def texts(root: Path, parts: tuple[str, ...] = ("",)) -> Path:
    for part in parts:
        for label in ("good", "bad"):
            for place in range(4):
                suffix = ".md" if place % 2 else ".txt"
                write(root / part / label / f"{place}{suffix}", f"{part} {place}, {label}\nand café".encode("cp1252"))
    return root


def test_texts_in_a_folder_for_each_class(tmp_path: Path) -> None:
    root = texts(tmp_path / "reviews", ("train", "test"))
    write(root / "train" / "bad" / "empty.txt", b" \n")
    loaded = load([root])
    assert {one.name: one.kind for one in loaded.samples.columns} == {"text": "text", "label": "category"}
    assert loaded.samples.targets == ("label",) and (loaded.samples.rows, loaded.samples.test_rows) == (16, 8)
    assert loaded.table["text"][0] == "train 0, bad\nand café"
    assert reported(loaded) == {"unreadable-files": 1}
    write(root / "test" / "bad" / "0.txt", b"other words")
    with pytest.raises(UserError, match="changed"):
        reload(loaded.samples)


def test_a_table_names_texts_beside_it(tmp_path: Path) -> None:
    root = texts(tmp_path / "reviews")
    names = [str(path.relative_to(root)) for path in sorted(root.rglob("*.txt"))]
    frame = pd.DataFrame({"review": [*names, "lost.txt"], "stars": range(len(names) + 1)})
    frame.to_csv(root / "stars.csv", index=False)
    for place in (root, root / "stars.csv"):
        loaded = load([place])
        assert loaded.samples.columns[0].kind == "text" and loaded.table["review"][0].endswith("café")
        assert reported(loaded)["missing-files"] == 1
    assert with_texts(frame, root, ["review"])["review"][0] == loaded.table["review"][0]


def test_tables_of_text_in_folders_stay_tables(tmp_path: Path) -> None:
    for year in ("2023", "2024"):
        for month in ("jan", "feb"):
            write(tmp_path / "sales" / year / f"{month}.txt", f"shop;sold\n{year}a;1\n{month};2\n".encode())
    assert set(load([tmp_path / "sales"]).table) == {"shop", "sold"}
