"""``widegap segment``: pictures in, label pictures out."""

import json
import os

import numpy as np
import pytest
from PIL import Image

from widegap.cli import _segment
from widegap.cli._main import main


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
    assert "60 x 40 pixels, 3 segments: 33 %, 33 %, 33 %" in capsys.readouterr().out
    with Image.open(tmp_path / "seg.side.png") as side:
        assert side.size == (180, 40)
    with Image.open(tmp_path / "seg.overlay.png") as lined:
        assert lined.getpixel((20, 10)) == (255, 40, 40)
    assert (tmp_path / "seg.2.png").exists() == (how == ["--recursive"])  # the split in between


def test_json_and_the_default_name(picture, tmp_path, capsys):
    assert main(["segment", str(picture), "-k", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert sum(found["sizes"]) == 2400
    assert str(tmp_path / "photo.segments.png") in found["written"]


def test_ctrl_c_keeps_the_splits_so_far(picture, tmp_path, capsys, monkeypatch):
    steps = _segment._steps

    def pressed(*arguments):
        for n, labels in enumerate(steps(*arguments)):
            if n == 1:
                os.kill(os.getpid(), 2)
            yield labels

    monkeypatch.setattr(_segment, "_steps", pressed)
    assert main(["segment", str(picture), "-k", "3", "-o", str(tmp_path / "seg.png")]) == 130
    assert len(np.unique(labels_of(tmp_path / "seg.partial.png"))) == 2
    assert not (tmp_path / "seg.png").exists()
    assert "the segments found so far are in" in capsys.readouterr().err


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


def test_the_picture_is_not_replaced(picture, tmp_path, capsys):
    before = picture.read_bytes()
    assert "would replace what is read" in complaint(capsys, picture, "-k", "2", "-o", picture)
    other = tmp_path / "photo.overlay.png"
    picture.rename(other)
    assert "would replace what is read" in complaint(capsys, other, "-k", "2", "-o", picture)
    assert other.read_bytes() == before


def test_json_is_printed_even_if_quiet(picture, tmp_path, capsys):
    assert main(["segment", str(picture), "-k", "1", "-o", str(tmp_path / "s.png"), "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["sizes"] == [2400]
    assert main(["segment", str(picture), "-k", "1", "-o", str(tmp_path / "s.png")]) == 0
    assert "1 segment: 100 %" in capsys.readouterr().out


def complaint(capsys, *arguments):
    assert main(["segment", *map(str, arguments)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_errors_name_the_remedy(picture, tmp_path, capsys, monkeypatch):
    assert "no such file" in complaint(capsys, tmp_path / "none.png", "-k", "2")
    (tmp_path / "text.png").write_text("no picture", encoding="utf-8")
    assert "is no picture that can be read" in complaint(capsys, tmp_path / "text.png", "-k", "2")
    cut = tmp_path / "cut.png"
    cut.write_bytes(picture.read_bytes()[:2000])
    assert "is damaged" in complaint(capsys, cut, "-k", "2")
    assert "labels need a lossless picture" in complaint(capsys, picture, "-k", "2", "-o", "x.jpg")
    Image.new("RGB", (1, 1)).save(tmp_path / "dot.png")
    assert "more segments than" in complaint(capsys, tmp_path / "dot.png", "-k", "2")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    assert "has too many pixels" in complaint(capsys, picture, "-k", "2")
    Image.new("RGB", (9, 9)).save(tmp_path / "flat.png")
    assert "ask for fewer" in complaint(capsys, tmp_path / "flat.png", "-k", "2")
