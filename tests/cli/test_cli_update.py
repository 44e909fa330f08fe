"""``widegap update``: the model file alone learns from new rows, and says what changed."""

import json

import numpy as np
import pandas as pd
import pytest

from widegap import persistence
from widegap.cli._main import main

SPEND, VISITS = (400.0, 120.0, 60.0, 900.0), (20.0, 6.0, 2.0, 40.0)


def month(groups, seed, spend=SPEND):
    """Customers in some groups, in turn."""
    rng, group = np.random.default_rng(seed), np.array(groups)[np.arange(240) % len(groups)]
    return pd.DataFrame(
        {
            "id": [f"c{seed}-{i}" for i in range(240)],
            "spend": (np.array(spend)[group] + rng.normal(0, 8, 240)).round(2),
            "visits": (np.array(VISITS)[group] + rng.normal(0, 0.5, 240)).round(2),
            "city": np.where(np.arange(240) % 2, "Bonn", "Ulm"),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The table of February and its model, with a name for the cluster of the first row."""
    folder = tmp_path_factory.mktemp("months")
    month((0, 1, 2), 1).to_csv(folder / "feb.csv", index=False)
    later = month((0, 1, 1, 3), 2, (394.0, *SPEND[1:]))
    later.loc[:4, "city"] = "Trier"
    later.to_csv(folder / "march.csv", index=False)
    assert main(["cluster", str(folder / "feb.csv"), "-k", "3", "--model", str(folder / "plain.widegap"), "-q"]) == 0
    model, extra = persistence.load(folder / "plain.widegap")
    loyal = int(model[-1].labels_[0])
    persistence.save(model, folder / "feb.widegap", extra={**extra, "names": {str(loyal): "loyal"}})
    return folder


def run(folder, *arguments):
    return main(["update", str(folder / "feb.widegap"), str(folder / "march.csv"), *map(str, arguments)])


def test_an_update_keeps_numbers_names_and_title_and_tells_what_changed(folder, tmp_path, capsys):
    before = (folder / "feb.widegap").read_bytes()
    places = {name: tmp_path / name for name in ("march.widegap", "rows.csv", "changes.html")}
    options = ["--model", places["march.widegap"], "-o", places["rows.csv"], "--report", places["changes.html"]]
    assert run(folder, *options) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert (folder / "feb.widegap").read_bytes() == before
    old, extra = persistence.load(folder / "feb.widegap")
    new, kept = persistence.load(places["march.widegap"])
    assert kept["names"] == extra["names"] and kept["title"] == "feb" and kept["missing"] == extra["missing"]
    rows = pd.read_csv(places["rows.csv"])
    loyal = int(old[-1].labels_[0])
    assert (rows["cluster"][::4] == loyal).all()
    assert rows["cluster"][3::4].unique().tolist() == [3]
    assert (rows["cluster_name"][::4] == "loyal").all()
    assert f"Cluster {loyal}, loyal: 33 % → 25 % of rows" in shown
    assert "average spend 400 → 39" in shown or "average spend 401 → 39" in shown
    assert "Cluster 3: new, 25 % of the new rows." in shown
    assert "Column 'city': 5 rows have categories that the model has not seen ('Trier')" in shown
    assert "kB)" in shown
    page = places["changes.html"].read_text()
    assert "What changed" in page and "Cluster 3: new" in page


def test_an_updated_model_file_can_be_used_by_the_other_commands(folder, tmp_path, capsys):
    assert run(folder, "--model", tmp_path / "march.widegap", "-q") == 0
    march = str(folder / "march.csv")
    assert main(["report", str(tmp_path / "march.widegap"), march, "--report", str(tmp_path / "r.html"), "-q"]) == 0
    assert "What changed" in (tmp_path / "r.html").read_text()
    assert main(["predict", str(tmp_path / "march.widegap"), str(folder / "feb.csv"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["changes"] is None
    assert {cluster["label"] for cluster in found["clusters"]} >= {3}
    again = ["update", str(tmp_path / "march.widegap"), march, "--model", str(tmp_path / "april.widegap"), "-q"]
    assert main(again) == 0
    before, after = (persistence.load(tmp_path / f"{name}.widegap")[0][-1] for name in ("march", "april"))
    np.testing.assert_array_equal(before.labels_, after.labels_)


def test_json_has_the_changes(folder, capsys):
    assert run(folder, "--json", "-q") == 0
    found = json.loads(capsys.readouterr().out)
    kinds = {record["cluster"]: record["kind"] for record in found["changes"]["clusters"]}
    assert kinds[3] == "new"
    assert found["changes"]["drift"]["p_value"] < 0.05


def test_a_model_without_rows_is_refused_with_the_remedy(folder, tmp_path, capsys):
    assert run(folder, "--model", tmp_path / "bare.widegap", "--without-rows", "-q") == 0
    assert run(folder, "--model", tmp_path / "full.widegap", "-q") == 0
    assert (tmp_path / "bare.widegap").stat().st_size < (tmp_path / "full.widegap").stat().st_size
    assert main(["update", str(tmp_path / "bare.widegap"), str(folder / "march.csv")]) == 2
    told = capsys.readouterr().err
    assert "holds no rows, which update needs" in told and "--model bare.widegap" in told


def test_cluster_saves_without_rows(folder, tmp_path, capsys):
    place = tmp_path / "bare.widegap"
    arguments = ["cluster", str(folder / "feb.csv"), "-k", "3", "--model", str(place), "--without-rows", "-q"]
    assert main(arguments) == 0
    assert persistence.load(place)[0][-1]._memory is None


def test_other_columns_are_refused_by_name(folder, tmp_path, capsys):
    month((0, 1), 5).rename(columns={"spend": "spent"}).to_csv(tmp_path / "other.csv", index=False)
    assert main(["update", str(folder / "feb.widegap"), str(tmp_path / "other.csv")]) == 2
    told = capsys.readouterr().err
    assert "lacks the column 'spend'" in told and "'spent'" in told


def test_a_further_column_is_not_used_and_that_is_told(folder, tmp_path, capsys):
    further = pd.read_csv(folder / "march.csv").assign(mood="fine", colour="red")
    further.to_csv(tmp_path / "further.csv", index=False)
    assert main(["update", str(folder / "feb.widegap"), str(tmp_path / "further.csv")]) == 0
    told = " ".join("".join(capsys.readouterr()).split())
    assert "The columns 'mood', 'colour' are not used: the model was fitted without them." in told
    assert "'Trier'" in told  # a category that is new
    assert run(folder) == 0
    assert "fitted without" not in "".join(capsys.readouterr())


def test_the_model_of_a_large_file_is_refused_with_the_remedy(folder, tmp_path, capsys):
    model, extra = persistence.load(folder / "feb.widegap")
    persistence.save(model, tmp_path / "large.widegap", extra={**extra, "large": True})
    assert main(["update", str(tmp_path / "large.widegap"), str(folder / "march.csv")]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "a file too large for memory" in told and "cluster some of its rows with --model, and update" in told


def test_a_method_without_update_is_refused(folder, tmp_path, capsys):
    place = str(tmp_path / "svr.widegap")
    assert main(["cluster", str(folder / "feb.csv"), "-k", "2", "--method", "iter-svr", "--model", place, "-q"]) == 0
    assert main(["update", place, str(folder / "march.csv")]) == 2
    assert "IterSVR, which cannot be updated" in capsys.readouterr().err


@pytest.mark.parametrize("share", ["1", "-0.1"])
def test_forget_is_a_share(folder, share, capsys):
    assert run(folder, f"--forget={share}") == 2
    assert "must be a share from 0 to below 1" in capsys.readouterr().err


def test_the_model_that_is_read_cannot_be_overwritten(folder, capsys):
    assert run(folder, "--model", folder / "feb.widegap") == 2
    assert "would overwrite a file that this command reads" in capsys.readouterr().err


def test_an_interrupted_update_writes_nothing(folder, tmp_path, monkeypatch, capsys):
    from widegap import MaxMarginClustering

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(MaxMarginClustering, "update", interrupted)
    assert run(folder, "--model", tmp_path / "march.widegap", "-o", tmp_path / "rows.csv") == 130
    assert list(tmp_path.iterdir()) == []


def test_weights_of_new_rows(folder, tmp_path):
    table = month((0, 1, 1, 3), 2).assign(weight=np.where(np.arange(240) % 4 == 3, 0.0, 1.0))
    table.to_csv(tmp_path / "weighted.csv", index=False)
    place = tmp_path / "weighted.widegap"
    command = ["update", str(folder / "feb.widegap"), str(tmp_path / "weighted.csv"), "--weight-column", "weight"]
    assert main([*command, "--model", str(place), "-q"]) == 0
    model, extra = persistence.load(place)
    assert model[-1].n_clusters_ == 3  # the rows of the new group have no weight
    assert extra["weight_column"] == "weight"


def test_the_explorer_opens_an_updated_model_and_tells_what_changed(folder):
    from widegap.cli._explore import _open_updated
    from widegap.explorer import Workspace
    from widegap.explorer import _payloads as payloads
    from widegap.tables._delimited import Dialect

    opening = _open_updated(folder / "feb.widegap", folder / "march.csv", None, Dialect("auto", None, header=None))
    workspace = Workspace(opening.model, opening.X, rows=opening.shown, notes=opening.notes, extra=opening.extra)
    shown = payloads.overview(workspace)
    assert "Cluster 3: new, 25 % of the new rows." in [one["text"] for one in shown["update"]["clusters"]]
    assert shown["rows_before"] > 0
    assert {cluster["label"] for cluster in shown["clusters"]} >= {3}
    assert "loyal" in {cluster["name"] for cluster in shown["clusters"]}


def test_the_explorer_updates_a_model_alone(folder, capsys):
    assert main(["explore", str(folder / "march.csv"), "--update", "--no-browser"]) == 2
    assert "--update needs a model file and a table of new rows" in capsys.readouterr().err


@pytest.mark.parametrize("named", [0, 1, 2])
def test_names_and_corrections_of_refine_are_kept(named, folder, tmp_path):
    feb, march = str(folder / "feb.csv"), str(folder / "march.csv")
    places = [str(tmp_path / f"{name}.widegap") for name in ("refined", "updated")]
    refine = ["refine", str(folder / "plain.widegap"), feb, "--rename", f"{named}=regulars", "--move", "c1-5:0"]
    assert main([*refine, "--model", places[0], "-q"]) == 0
    before = persistence.load(places[0])[0][-1]
    assert main(["update", places[0], march, "--model", places[1], "-q"]) == 0
    after, extra = persistence.load(places[1])
    named_now = {
        int(n): label for n, label in zip(after[-1].cluster_numbers_, after[-1].classes_, strict=True) if label
    }
    assert named_now == {named: "regulars"}
    assert (after[-1].labels_[::4] == before.labels_[0]).all()
    assert extra["corrections"]["earlier"]


def test_refine_calls_clusters_by_their_numbers_also_with_gaps(folder, tmp_path, capsys):
    models, later = [folder / "plain.widegap"], str(tmp_path / "without_one.csv")
    month((0, 2, 3), 7).to_csv(later, index=False)
    for step in range(3):
        models.append(tmp_path / f"{step}.widegap")
        assert main(["update", str(models[-2]), later, "--forget", "0.99", "--model", str(models[-1]), "-q"]) == 0
    before = persistence.load(models[-1])[0][-1]
    numbers, refined = before.cluster_numbers_.tolist(), tmp_path / "refined.widegap"
    assert len(numbers) == 3 and max(numbers) == 3
    refine = ["refine", str(models[-1]), later, "--model", str(refined), "-q"]
    assert main([*refine, "--rename", "3=new ones"]) == 0
    after = persistence.load(refined)[0][-1]
    assert after.classes_[after.labels_[np.flatnonzero(before.labels_ == 3)[0]]] == "new ones"
    gone = ({0, 1, 2, 3} - set(numbers)).pop()
    assert main([*refine, "--rename", f"{gone}=gone"]) == 2
    assert f"there is no cluster '{gone}'; they are numbered " + ", ".join(map(str, numbers)) in capsys.readouterr().err
