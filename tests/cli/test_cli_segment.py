"""``widegap segment``: pictures in, label pictures out."""

import json
import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_sample_image

from widegap import CPM3C, persistence
from widegap.cli import _segment
from widegap.cli._errors import CommandError
from widegap.cli._main import main
from widegap.image import bisections


@pytest.fixture
def picture(tmp_path):
    """Three coloured areas with some noise."""
    pixels = np.zeros((40, 60, 3), np.uint8) + np.uint8([200, 40, 40])
    pixels[:, 20:40] = [40, 200, 40]
    pixels[:, 40:] = [40, 40, 200]
    pixels += np.random.default_rng(0).integers(0, 20, pixels.shape, dtype=np.uint8)
    path = tmp_path / "photo.png"
    Image.fromarray(pixels).save(path)
    return path


def labels_of(path):
    with Image.open(path) as found:
        assert found.mode == "P"
        return np.asarray(found)


@pytest.mark.parametrize("how", [["--recursive"], ["--at-once", "--method", "max-margin"]])
def test_the_areas_are_found(how, picture, tmp_path, capsys):
    out = tmp_path / "seg.png"
    assert main(["segment", str(picture), "-k", "3", "-o", str(out), *how]) == 0
    labels = labels_of(out)
    areas = [np.unique(labels[:, start : start + 20]).tolist() for start in (0, 20, 40)]
    assert sorted(areas) == [[0], [1], [2]]
    said = capsys.readouterr().out
    assert "60 x 40 pixels, 3 segments\n" in said
    assert said.count("   33 %  #") == 3
    table = (tmp_path / "seg.csv").read_text(encoding="utf-8").splitlines()
    assert table[0] == "segment,pixels,share,colour,x,y,left,top,right,bottom,regions"
    assert [line.split(",")[1] for line in table[1:]] == ["800"] * 3
    with Image.open(tmp_path / "seg.side.png") as side:
        assert side.size == (180, 40)
    with Image.open(tmp_path / "seg.overlay.png") as lined:
        assert lined.getpixel((20, 10)) == (255, 40, 40)
        assert lined.getpixel((10, 10)) != lined.getpixel((30, 10))
    assert (tmp_path / "seg.2.png").exists() == (how == ["--recursive"])  # the split in between


def test_json_and_the_default_name(picture, tmp_path, capsys):
    assert main(["segment", str(picture), "-k", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert sum(found["sizes"]) == 2400
    assert str(tmp_path / "photo.segments.png") in found["written"]


def press_at(monkeypatch, split):
    """Let Ctrl-C be pressed while a split is made."""
    steps = _segment._steps

    def pressed(*arguments):
        for n, labels in enumerate(steps(*arguments)):
            if n == split:
                os.kill(os.getpid(), signal.SIGINT)
            yield labels

    monkeypatch.setattr(_segment, "_steps", pressed)


def test_ctrl_c_keeps_the_splits_so_far(picture, tmp_path, capsys, monkeypatch):
    press_at(monkeypatch, 3)
    assert main(["segment", str(picture), "-k", "4", "-o", str(tmp_path / "seg.png")]) == 130
    assert len(np.unique(labels_of(tmp_path / "seg.partial.png"))) == 3
    assert sorted(path.name for path in tmp_path.glob("seg*")) == [
        "seg.partial.2.png", "seg.partial.csv", "seg.partial.overlay.png", "seg.partial.png", "seg.partial.side.png",
    ]  # fmt: skip
    assert "Interrupted: 3 of 4 segments were found so far; they are in" in capsys.readouterr().err


def test_ctrl_c_before_the_first_split_writes_nothing(picture, tmp_path, capsys, monkeypatch):
    press_at(monkeypatch, 1)
    assert main(["segment", str(picture), "-k", "3", "-o", str(tmp_path / "seg.png")]) == 130
    assert capsys.readouterr().err.endswith(" ...\nInterrupted before the first split; nothing was written.\n")
    assert os.listdir(tmp_path) == [picture.name]


def test_the_splits_on_the_way_are_what_bisections_found(picture, tmp_path):
    arguments = ["segment", str(picture), "-k", "5", "--method", "max-margin", "-o", str(tmp_path / "seg.png"), "-q"]
    assert main([*arguments, "--smooth", "0", "--min-region", "0"]) == 0
    with Image.open(picture) as pixels:
        steps = bisections(np.asarray(pixels), 5, "max-margin", random_state=0)
    for n, labels in enumerate(steps, 1):
        if n > 1:
            found = labels_of(tmp_path / ("seg.png" if n == 5 else f"seg.{n}.png"))
            np.testing.assert_array_equal(found, labels)


def test_many_segments_make_a_short_summary(picture, tmp_path, capsys, monkeypatch):
    columns = np.repeat(np.arange(60)[None], 40, axis=0).astype(np.int32)
    monkeypatch.setattr(_segment, "_steps", lambda *arguments: (np.minimum(columns, n) for n in range(40)))
    arguments = ["segment", str(picture), "-k", "40", "--smooth", "0", "--min-region", "0"]
    assert main([*arguments, "-o", str(tmp_path / "seg.png")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 20
    assert lines[0] == "60 x 40 pixels, 40 segments"
    assert lines[14] == "... and 28 smaller ones"
    assert max(map(len, lines)) < 120 + len(str(tmp_path))
    assert lines[-1] == f"... and 38 more, up to {tmp_path / 'seg.39.png'}"
    assert len(list(tmp_path.glob("seg*"))) == 42
    assert main([*arguments, "-o", str(tmp_path / "seg.png"), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["written"]) == 42  # programs get all names


def test_pictures_to_look_at_are_no_larger_than_a_screen(tmp_path):
    pixels = np.zeros((10, 3300, 3), np.uint8)
    pixels[:, 1650:] = 200
    Image.fromarray(pixels).save(tmp_path / "wide.png")
    assert main(["segment", str(tmp_path / "wide.png"), "-k", "2", "-o", str(tmp_path / "seg.png"), "-q"]) == 0
    sizes = {}
    for name in ("seg", "seg.overlay", "seg.side"):
        with Image.open(tmp_path / f"{name}.png") as found:
            sizes[name] = found.size
    assert sizes == {"seg": (3300, 10), "seg.overlay": (1100, 4), "seg.side": (3300, 4)}
    with Image.open(tmp_path / "seg.overlay.png") as lined:
        assert lined.getpixel((550, 1)) == (255, 40, 40)  # the boundary is still to be seen


def test_warnings_of_the_fit_are_notes(picture, tmp_path, capsys, monkeypatch):
    def warned(*arguments):
        warnings.warn("not converged", UserWarning, stacklevel=1)
        yield np.zeros((40, 60), np.int32)

    monkeypatch.setattr(_segment, "_steps", warned)
    assert main(["segment", str(picture), "-k", "2", "-o", str(tmp_path / "s.png")]) == 0
    assert capsys.readouterr().err == "Segmenting photo.png ...\nnote: not converged\n"


@pytest.mark.parametrize("mode", ["I;16", "I"])
def test_sixteen_bits_are_not_clipped(mode, tmp_path):
    pixels = np.full((20, 30), 1000, np.uint16 if mode == "I;16" else np.int32)
    pixels[:, 10:20], pixels[:, 20:] = 30000, 60000
    pixels += np.random.default_rng(0).integers(0, 500, pixels.shape).astype(pixels.dtype)
    path, out = tmp_path / "deep.tif", tmp_path / "seg.png"
    Image.fromarray(pixels).save(path)
    with Image.open(path) as found:
        assert found.mode == mode
    assert main(["segment", str(path), "-k", "3", "-o", str(out), "-q"]) == 0
    labels = labels_of(out)
    assert sorted(np.unique(labels[:, start : start + 10]).tolist() for start in (0, 10, 20)) == [[0], [1], [2]]
    with Image.open(tmp_path / "seg.side.png") as side:
        assert side.getpixel((5, 5))[0] < 20  # dark stays dark


@pytest.mark.parametrize(("low", "high"), [(-3.5, 12.25), (0.0, 4000.0), (0.1, 0.9)])
def test_float_pictures_are_scaled_by_their_range(low, high, tmp_path, capsys):
    pixels = np.full((20, 30), low, np.float32)
    pixels[:, 20:] = high
    Image.fromarray(pixels).save(tmp_path / "f.tif")
    assert main(["segment", str(tmp_path / "f.tif"), "-k", "2", "-o", str(tmp_path / "seg.png")]) == 0
    assert labels_of(tmp_path / "seg.png")[0].tolist() == [0] * 20 + [1] * 10
    said = capsys.readouterr().err.removeprefix("Segmenting f.tif ...\n")
    with Image.open(tmp_path / "seg.side.png") as side:
        shades = [side.getpixel((x, 5))[0] for x in (5, 25)]
    if high <= 1:
        assert said == ""
        assert shades == [26, 230]
    else:
        assert said == f"note: Grey values from {low:g} to {high:g} were stretched to the range from black to white.\n"
        assert shades == [0, 255]


def test_twelve_bits_in_sixteen_are_not_black(tmp_path):
    pixels = np.full((20, 30), 100, np.uint16)
    pixels[:, 20:] = 4000
    Image.fromarray(pixels).save(tmp_path / "t.png")
    assert main(["segment", str(tmp_path / "t.png"), "-k", "2", "-o", str(tmp_path / "seg.png"), "-q"]) == 0
    with Image.open(tmp_path / "seg.side.png") as side:
        assert side.getpixel((25, 5)) == (255, 255, 255)


def test_pictures_with_nan_are_refused(tmp_path, capsys):
    Image.fromarray(np.full((4, 4), np.nan, np.float32)).save(tmp_path / "f.tif")
    assert "holds values that are not finite; replace them" in complaint(capsys, tmp_path / "f.tif", "-k", "2")


def test_transparent_colours_of_a_palette_lie_on_white(tmp_path):
    found = Image.fromarray(np.repeat([[0, 1]], 8, axis=0).astype(np.uint8).repeat(8, axis=1), "P")
    found.putpalette([0, 0, 0, 200, 0, 0])
    found.save(tmp_path / "p.png", transparency=0)
    assert main(["segment", str(tmp_path / "p.png"), "-k", "2", "-o", str(tmp_path / "seg.png"), "-q"]) == 0
    with Image.open(tmp_path / "seg.side.png") as side:
        assert side.getpixel((2, 2)) == (255, 255, 255)


def test_the_picture_is_not_replaced(picture, tmp_path, capsys):
    before = picture.read_bytes()
    assert "would overwrite a file that this command reads" in complaint(capsys, picture, "-k", "2", "-o", picture)
    other = tmp_path / "photo.overlay.png"
    picture.rename(other)
    assert "would overwrite a file that this command reads" in complaint(capsys, other, "-k", "2", "-o", picture)
    assert other.read_bytes() == before


def test_json_is_printed_even_if_quiet(picture, tmp_path, capsys):
    assert main(["segment", str(picture), "-k", "1", "-o", str(tmp_path / "s.png"), "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["sizes"] == [2400]
    assert main(["segment", str(picture), "-k", "1", "-o", str(tmp_path / "s.png")]) == 0
    assert "1 segment\n" in capsys.readouterr().out


def complaint(capsys, *arguments):
    assert main(["segment", *map(str, arguments)]) == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if not line.endswith(" ...")]
    return line


def test_errors_name_the_remedy(picture, tmp_path, capsys, monkeypatch):
    assert "no such file" in complaint(capsys, tmp_path / "none.png", "-k", "2")
    (tmp_path / "text.png").write_text("no picture", encoding="utf-8")
    assert "cannot be read as a picture" in complaint(capsys, tmp_path / "text.png", "-k", "2")
    cut = tmp_path / "cut.png"
    cut.write_bytes(picture.read_bytes()[:2000])
    assert "is damaged" in complaint(capsys, cut, "-k", "2")
    assert "labels need a lossless picture" in complaint(capsys, picture, "-k", "2", "-o", "x.jpg")
    Image.new("RGB", (1, 1)).save(tmp_path / "dot.png")
    assert "more segments than" in complaint(capsys, tmp_path / "dot.png", "-k", "2")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    assert "has too many pixels" in complaint(capsys, picture, "-k", "2")
    Image.new("RGB", (9, 9)).save(tmp_path / "flat.png")
    flat = complaint(capsys, tmp_path / "flat.png", "-k", "2")
    assert "flat.png: All pixels have one colour, too few for 2 segments; ask for at most 1." in flat
    for k in ("0", "257", "two", "-1", "1.5"):
        assert f"-k '{k}' must be a number of segments from 1 to 256, or auto." in complaint(capsys, picture, f"-k{k}")


def test_texture_does_not_shatter_segments(tmp_path, capsys):
    rng = np.random.default_rng(0)
    pixels = np.where(rng.random((120, 160, 1)) < 0.8, 60, 180) + rng.integers(0, 20, (120, 160, 3))
    pixels[:, 80:] = np.where(rng.random((120, 80, 1)) < 0.2, 60, 180) + rng.integers(0, 20, (120, 80, 3))
    Image.fromarray(pixels.astype(np.uint8)).save(tmp_path / "grass.png")
    regions = []
    for options in (["--smooth", "0", "--min-region", "0"], []):
        arguments = ["segment", str(tmp_path / "grass.png"), "-k", "2", "-o", str(tmp_path / "s.png"), "--json"]
        assert main([*arguments, *options]) == 0
        regions.append(sum(row["regions"] for row in json.loads(capsys.readouterr().out)["segments"]))
    assert regions[0] > 1000
    assert regions[1] < 50


@pytest.fixture
def folder(tmp_path, picture):
    """Three pictures of the same colours, and a file that is none."""
    found = tmp_path / "photos"
    found.mkdir()
    pixels = np.array(Image.open(picture))
    for name, shown in (("a.png", pixels), ("b.png", pixels[:, 20:]), ("c.jpg", pixels[:, :40])):
        Image.fromarray(shown).save(found / name)
    (found / "d.png").write_text("no picture", encoding="utf-8")
    (found / "notes.txt").write_text("text", encoding="utf-8")
    return found


def test_a_folder_of_pictures(folder, tmp_path, capsys):
    assert main(["segment", str(folder), "-k", "2"]) == 0
    said = capsys.readouterr()
    assert "a.png: 60 x 40 pixels, 2 segments: 67 %, 33 %" in said.out
    assert "d.png cannot be read as a picture" in said.err
    made = tmp_path / "photos-segments"
    assert sorted(path.name for path in made.glob("a.png*")) == [
        "a.png.segments.csv", "a.png.segments.overlay.png", "a.png.segments.png",
    ]  # fmt: skip
    assert "would write among the pictures" in complaint(capsys, folder, "-k", "2", "-o", folder)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "holds no pictures" in complaint(capsys, empty, "-k", "2")


def test_one_model_gives_segments_the_same_meaning_in_all_pictures(folder, picture, tmp_path, capsys):
    model = tmp_path / "colours.widegap"
    assert main(["segment", str(folder), "-k", "3", "--model", str(model), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["model"] == [str(model)]
    names = {}
    for name, starts in (("a.png", (0, 20, 40)), ("b.png", (20, 40)), ("c.jpg", (0, 20))):
        labels = labels_of(tmp_path / "photos-segments" / f"{name}.segments.png")
        for start in starts:
            (label,) = np.unique(labels[5:35, start - starts[0] + 5 : start - starts[0] + 15])
            assert names.setdefault(start, label) == label
    assert len(set(names.values())) == 3
    assert main(["segment", str(picture), "--apply", str(model), "-o", str(tmp_path / "x.png"), "-q"]) == 0
    again = labels_of(tmp_path / "x.png")
    np.testing.assert_array_equal(again, labels_of(tmp_path / "photos-segments" / "a.png.segments.png"))
    Image.fromarray(np.full((8, 8), 90, np.uint8)).save(tmp_path / "grey.png")
    assert main(["segment", str(tmp_path / "grey.png"), "--apply", str(model), "-q"]) == 0
    capsys.readouterr()
    assert main(["segment", str(tmp_path / "grey.png"), "--model", str(model), "-q"]) == 0  # as it was called before
    assert "note: --model without -k is now --apply" in capsys.readouterr().err
    assert "-k and --apply cannot be combined" in complaint(capsys, picture, "-k", "2", "--apply", model)


def test_a_model_has_to_be_one_of_pictures(picture, tmp_path, capsys):
    assert "no such file; 'widegap segment" in complaint(capsys, picture, "--apply", tmp_path / "none.widegap")
    model = CPM3C(2, random_state=0).fit(np.repeat(np.eye(3), 4, axis=0))
    persistence.save(model, tmp_path / "table.widegap")
    assert "is not a model of pictures" in complaint(capsys, picture, "--apply", tmp_path / "table.widegap")


@pytest.mark.parametrize("number", [[], ["-k", "auto"]], ids=["without -k", "auto"])
@pytest.mark.parametrize("how", ["--recursive", "--at-once"])
def test_the_number_of_segments_is_found(number, how, picture, tmp_path, capsys):
    assert main(["segment", str(picture), *number, how]) == 0
    said = capsys.readouterr()
    assert "60 x 40 pixels, 3 segments\n" in said.out
    assert said.err == "Segmenting photo.png ...\nnote: The number of segments (3) was found; -k sets another.\n"
    areas = [np.unique(labels_of(tmp_path / "photo.segments.png")[:, start : start + 20]) for start in (0, 20, 40)]
    assert sorted(area.tolist() for area in areas) == [[0], [1], [2]]
    assert (tmp_path / "photo.segments.2.png").exists() == (how == "--recursive")


def test_a_model_of_as_many_segments_as_are_found(picture, tmp_path, capsys):
    model = tmp_path / "new.widegap"
    assert main(["segment", str(picture), "--model", str(model)]) == 0
    assert "The number of segments (3) was found" in capsys.readouterr().err
    assert main(["segment", str(picture), "--apply", str(model)]) == 0
    said = capsys.readouterr()
    assert "3 segments" in said.out and "was found" not in said.err


@pytest.fixture
def photos(picture, tmp_path):
    """A folder with a picture of three colours, one of a single colour, and one in black and white."""
    folder = tmp_path / "photos"
    folder.mkdir()
    picture.rename(folder / "areas.png")
    Image.new("RGB", (30, 20), (90, 90, 90)).save(folder / "flat.png")
    black_and_white = np.zeros((20, 30), bool)
    black_and_white[5:10, 5:20] = True
    Image.fromarray(black_and_white).save(folder / "line.png")
    return folder


def test_pictures_with_too_few_colours_are_skipped_by_name(photos, tmp_path, capsys):
    assert main(["segment", str(photos), "-k", "3"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("areas.png: 60 x 40 pixels, 3 segments")
    _, flat, line = said.err.splitlines()
    assert (
        flat
        == f"note: Skipped: {photos}/flat.png: All pixels have one colour, too few for 3 segments; ask for at most 1."
    )
    assert line.startswith(f"note: Skipped: {photos}/line.png: The pixels have only 2 different colours")
    assert sorted(path.name for path in (tmp_path / "photos-segments").glob("*.csv")) == ["areas.png.segments.csv"]
    assert main(["segment", str(photos), "-k", "3", "--at-once", "-q"]) == 0
    (photos / "areas.png").unlink()
    assert "None of the 2 pictures could be segmented. Skipped: " in complaint(capsys, photos, "-k", "3")


def test_every_picture_of_a_folder_gets_its_own_number(photos, capsys):
    assert main(["segment", str(photos)]) == 0
    said = capsys.readouterr()
    numbers = [line.split(", ")[1].split(" segment")[0] for line in said.out.splitlines()[:3]]
    assert numbers == ["3", "1", "2"]
    note = "note: The number of segments was found for each picture by itself; -k sets one for all.\n"
    assert said.err == f"Segmenting 3 pictures ...\n{note}"


def test_the_present_folder_has_a_name(photos, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(photos)
    assert main(["segment", ".", "-k", "2"]) == 0
    assert (tmp_path / "photos-segments" / "areas.png.segments.png").exists()
    assert f"files in {tmp_path / 'photos-segments'}" in capsys.readouterr().out


def test_the_root_of_a_disk_has_no_folder_beside_it(tmp_path):
    with pytest.raises(CommandError, match="/ has no folder beside it for the results; name one with -o"):
        _segment._folder_beside(Path(tmp_path.anchor))


PEAK = """
import resource, subprocess, sys
code = subprocess.run([sys.executable, "-m", "widegap", *sys.argv[1:]]).returncode
kilobytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(code, kilobytes * (1 if sys.platform == "darwin" else 1024))
"""


@pytest.mark.slow
def test_twelve_megapixels_keep_to_the_memory_that_is_promised(tmp_path):
    pytest.importorskip("resource")
    photo = Image.fromarray(load_sample_image("china.jpg")).resize((4000, 3000))
    noise = np.random.default_rng(0).normal(0, 6, (3000, 4000, 3))
    Image.fromarray(np.clip(np.asarray(photo) + noise, 0, 255).astype(np.uint8)).save(tmp_path / "big.jpg", quality=92)
    arguments = ["segment", str(tmp_path / "big.jpg"), "-k", "4", "-q", "-o", str(tmp_path / "seg.png")]
    run = subprocess.run([sys.executable, "-c", PEAK, *arguments], capture_output=True, text=True, check=True)
    code, peak = map(int, run.stdout.split())
    assert code == 0
    assert peak < 750e6  # measured: 550e6, of which 370e6 are there for any picture
    sizes = {path.name: path.stat().st_size for path in tmp_path.glob("seg*")}
    assert max(sizes.values()) < 8e6
    with Image.open(tmp_path / "seg.png") as labels:
        assert labels.size == (4000, 3000)


def test_help_states_the_memory(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["segment", "--help"]) == 0
    assert "15 bytes a pixel (12 megapixels: 0.6 GB)" in " ".join(capsys.readouterr().out.split())
