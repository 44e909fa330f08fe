"""Clusters that follow the columns of a table, together with everything else that a fit can be asked for."""

import itertools
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline

from _data import FOLDER, requires_data
from tests._mixed_tables import customers, shuffled
from widegap import MaxMarginClustering, TableEncoder, persistence
from widegap.exceptions import NoStructureWarning
from widegap.features._coded_columns import CodedColumns
from widegap.selection import compare_cluster_numbers


def rings():
    return make_circles(600, noise=0.05, factor=0.4, random_state=0)


def pipeline(n_clusters=3, random_state=0, **parameters):
    return make_pipeline(TableEncoder(), MaxMarginClustering(n_clusters, random_state=random_state, **parameters))


def fitted(frame, side=None, **parameters):
    sides = {f"maxmarginclustering__{name}": value for name, value in (side or {}).items()}
    return pipeline(**parameters).fit(frame, **sides)


def chosen(model, k=3):
    (name,) = [c.pool for c in model.candidates_ if c.chosen and c.n_clusters == k]
    return name


def test_a_pipeline_follows_the_columns_and_says_so():
    frame, segment = customers()
    found = fitted(frame)
    model = found[-1]
    assert adjusted_rand_score(segment, model.labels_) > 0.9  # 0.97
    assert chosen(model) == "columns" and isinstance(model.kernel_map_, CodedColumns)
    shares = {c.pool: c.explained_columns for c in model.candidates_}
    assert shares["columns"] > shares["gaps"] > 0
    np.testing.assert_array_equal(found.predict(frame), model.labels_)
    assert found.predict_proba(frame[:5]).sum(axis=1) == pytest.approx(1)


def test_the_number_is_found_and_shuffled_columns_are_one_cluster():
    frame, _ = customers()
    model = fitted(frame, n_clusters="auto")[-1]
    assert model.n_clusters_ == 3 and model.n_clusters_choice_.by_columns
    assert "3 clusters (strength" in model.n_clusters_choice_.sentence()
    alone = fitted(shuffled(frame), n_clusters="auto")[-1]
    assert alone.n_clusters_ == 1 and "do not go together" in alone.n_clusters_choice_.sentence()


def test_a_given_number_of_clusters_of_shuffled_columns_is_warned_of():
    with pytest.warns(NoStructureWarning, match="do not go together"):
        fitted(shuffled(customers()[0]))


def test_a_range_of_numbers_is_judged_as_auto_is():
    frame, _ = customers()
    X = TableEncoder().fit_transform(frame)
    auto = MaxMarginClustering("auto", random_state=0).fit(X)
    strengths = {score.n_clusters: score.strength for score in auto.n_clusters_scores_}
    records = compare_cluster_numbers(
        MaxMarginClustering(random_state=0), X, range(2, 7), n_subsamples=2, random_state=0
    )
    found = {record.n_clusters: record.strength for record in records if record.strength is not None}
    assert all(record.separation is None for record in records)
    assert max(k for k in found if found[k] > 1) == auto.n_clusters_ == max(k for k in strengths if strengths[k] > 1)


def test_score_is_the_log_likelihood_of_a_row():
    frame, _ = customers()
    found = fitted(frame)
    scores = found[-1]._scores(TableEncoder().fit_transform(frame))
    assert found.score(frame) == pytest.approx(np.log(np.exp(scores).sum(axis=1)).mean())
    assert found.score(frame) > found.score(shuffled(frame))


def test_numbers_alone_are_searched_as_before():
    X, _ = make_blobs(200, centers=3, random_state=0)
    frame = pd.DataFrame(X, columns=["a", "b"])
    plain = MaxMarginClustering(3, random_state=0).fit(X)
    for same in (MaxMarginClustering(3, random_state=0).fit(frame), fitted(frame)[-1]):
        np.testing.assert_array_equal(same.labels_, plain.labels_)
        assert chosen(same) != "columns"


def test_columns_none_takes_flags_for_numbers():
    frame, _ = customers()
    assert chosen(fitted(frame, columns=None)[-1]) != "columns"
    encoded = TableEncoder().fit_transform(frame)
    plain = MaxMarginClustering(3, random_state=0).fit(np.asarray(encoded))
    np.testing.assert_array_equal(fitted(frame, columns=None)[-1].labels_, plain.labels_)


def test_slices_names_and_the_encoder_say_the_same():
    frame, _ = customers()
    encoder = TableEncoder().set_output(transform="pandas")
    named = encoder.fit_transform(frame)
    by_encoder = fitted(frame)[-1].labels_
    for X, columns in (
        (named.to_numpy(), [slice(2, 5), slice(5, 6)]),
        (named, ["channel", "member"]),
        (named, "auto"),
    ):
        found = MaxMarginClustering(3, columns=columns, random_state=0).fit(X).labels_
        np.testing.assert_array_equal(found, by_encoder)


@pytest.mark.parametrize("search", ["merge", "moves"])
def test_other_searches_leave_columns_alone(search):
    model = fitted(customers()[0], search=search)[-1]
    assert all(c.pool != "columns" for c in getattr(model, "candidates_", ()))


def test_cuts_at_other_numbers_follow_columns_too():
    frame, segment = customers()
    model = fitted(frame, n_clusters=4)[-1]
    assert adjusted_rand_score(segment, model.cut(3)) > 0.9
    other = model.with_clusters(3)
    np.testing.assert_array_equal(other.labels_, model.cut(3))
    np.testing.assert_array_equal(other.predict(TableEncoder().fit_transform(frame)), other.labels_)
    assert set(other.tree_.cut(3)) == {0, 1, 2}


def test_known_labels_links_and_sizes_are_kept():
    frame, segment = customers(300)
    known = np.full(300, None)
    known[:40] = np.array(["a", "b", "c"])[segment[:40]]
    found = fitted(frame, side={"known": known})
    model = found[-1]
    names = np.array(model.classes_)[model.labels_]
    assert (names[:40] == known[:40]).all() and np.mean(names == np.array(["a", "b", "c"])[segment]) > 0.96  # 0.99
    assert np.mean(found.predict(frame) == model.labels_) > 0.97
    few = np.where(np.arange(300) < 5, known, None)
    kept = fitted(frame, side={"known": few})[-1]
    assert adjusted_rand_score(segment, kept.labels_) > 0.9  # a few labels do not spoil what was found without
    assert len(model.questions(5)) == 5
    linked = fitted(frame, side={"must_link": [(0, 1)], "cannot_link": [(2, 3)]})[-1].labels_
    assert linked[0] == linked[1] and linked[2] != linked[3]
    assert np.bincount(fitted(frame, size_min=90)[-1].labels_).min() >= 90


def test_weights_count_as_copies_and_rows_of_weight_zero_are_predicted():
    frame, segment = customers(300)
    weights = np.where(np.arange(300) < 250, 2, 0)
    model = fitted(frame, side={"sample_weight": weights})[-1]
    assert chosen(model) == "columns" and adjusted_rand_score(segment, model.labels_) > 0.9
    assert len(model.agreement_) == 300


def test_outliers_take_no_part():
    frame, segment = customers(300)
    model = fitted(frame, outliers=0.05)[-1]
    inside = model.labels_ >= 0
    assert 0 < np.mean(~inside) < 0.1 and adjusted_rand_score(segment[inside], model.labels_[inside]) > 0.8  # 0.87


def test_seeds_decide_and_row_order_does_not_matter_much():
    frame, _ = customers()
    one, two = fitted(frame)[-1], fitted(frame)[-1]
    np.testing.assert_array_equal(one.labels_, two.labels_)
    order = np.random.default_rng(0).permutation(len(frame))
    assert adjusted_rand_score(fitted(frame.iloc[order])[-1].labels_, one.labels_[order]) > 0.97  # starts differ


def test_gaps_in_categories_speak_for_no_cluster():
    frame, segment = customers()
    frame.loc[::7, "channel"] = None
    frame.loc[::5, "spend"] = np.nan
    found = fitted(frame)
    assert adjusted_rand_score(segment, found[-1].labels_) > 0.8  # 0.87
    np.testing.assert_array_equal(found.predict(frame), found[-1].labels_)


def test_more_rows_than_are_searched_get_the_same_rule():
    frame, segment = customers(25_000)
    found = fitted(frame)
    np.testing.assert_array_equal(found[-1].labels_, found.predict(frame))
    assert adjusted_rand_score(segment, found[-1].labels_) > 0.9


def test_rows_on_dask_with_columns_named_by_slices():
    da = pytest.importorskip("dask.array")
    frame, segment = customers()
    X = da.from_array(np.asarray(TableEncoder().fit_transform(frame)), chunks=(200, 6))
    model = MaxMarginClustering(3, columns=[slice(2, 5), slice(5, 6)], random_state=0).fit(X)
    assert chosen(model) == "columns"
    assert adjusted_rand_score(segment, np.asarray(model.labels_)) > 0.9


def test_model_files_hold_the_rule(tmp_path):
    frame, _ = customers()
    found = fitted(frame, n_clusters="auto")
    persistence.save(found, tmp_path / "model.widegap")
    loaded, _ = persistence.load(tmp_path / "model.widegap")
    np.testing.assert_array_equal(loaded.predict(frame), found.predict(frame))
    np.testing.assert_allclose(loaded.predict_proba(frame), found.predict_proba(frame))
    assert loaded[-1].candidates_ == found[-1].candidates_
    assert loaded[-1].n_clusters_choice_ == found[-1].n_clusters_choice_
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(found)).predict(frame), found.predict(frame))


def test_a_column_of_weight_nothing_else_than_its_own_says_less():
    """A column of noise that is doubled in weight moves the clusters; one of hardly any weight does not."""
    frame, segment = customers()
    encoded = TableEncoder().fit_transform(frame)
    from dataclasses import replace

    from widegap.features._column_groups import EncodedTable

    noise = np.eye(3)[np.random.default_rng(0).integers(0, 3, len(frame))]
    values = np.hstack([np.asarray(encoded), noise])
    groups = [*encoded.column_groups, replace(encoded.column_groups[2], first=6, stop=9, weight=1e-3)]
    model = MaxMarginClustering(3, random_state=0).fit(EncodedTable.of(values, groups))
    without = MaxMarginClustering(3, random_state=0).fit(encoded)
    assert adjusted_rand_score(model.labels_, without.labels_) > 0.99


@pytest.mark.parametrize("shape", [make_moons(600, noise=0.08, random_state=0), rings()], ids=["moons", "rings"])
@pytest.mark.parametrize("levels", ["pq", "abcd"])
def test_plain_gaps_between_numbers_are_followed_beside_a_category(shape, levels):
    X, classes = shape
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(c=np.random.default_rng(0).choice(list(levels), len(X)))
    found = fitted(frame, n_clusters=2)
    model = found[-1]
    assert chosen(model, 2) == "gaps" and adjusted_rand_score(classes, model.labels_) > 0.97
    assert np.mean(found.predict(frame) == model.labels_) > 0.97
    other = frame.assign(c=np.roll(frame["c"], 1))  # the category has no part in it
    np.testing.assert_array_equal(found.predict(other), found.predict(frame))
    assert not {c.pool for c in model.candidates_} - {"gaps", "columns"}


# Real tables


def mixed(name):
    frame = pd.read_csv(f"{FOLDER}/mixed/{name}.csv")
    return frame.drop(columns="label"), pd.factorize(frame["label"])[0]


@requires_data
@pytest.mark.parametrize(("name", "least"), [("zoo", 0.75), ("soybean", 0.4), ("salaries", 0.25), ("breast_w", 0.8)])
def test_real_tables(name, least):
    """Measured .85, .54, .35 and .90; by gaps with flags .50, .50, .03 and .87."""
    frame, classes = mixed(name)
    model = fitted(frame, n_clusters=classes.max() + 1)[-1]
    assert chosen(model, classes.max() + 1) == "columns"
    assert adjusted_rand_score(classes, model.labels_) > least


@requires_data
def test_penguins_are_species_and_not_sexes():
    frame, species = mixed("penguins")
    model = fitted(frame)[-1]
    assert chosen(model) == "gaps" and adjusted_rand_score(species, model.labels_) > 0.85  # 0.93


@requires_data
@pytest.mark.filterwarnings("ignore::widegap.exceptions.ColumnWarning")  # two penguins have an island alone
def test_numbers_of_clusters_of_real_tables():
    frame, _ = mixed("penguins")
    drops = [(), *itertools.combinations(frame, 1), *itertools.combinations(frame, 2)]
    found = [fitted(frame.drop(columns=list(drop)), n_clusters="auto")[-1].n_clusters_ for drop in drops]
    assert set(found) <= {2, 3, 4}
    assert fitted(mixed("titanic")[0], n_clusters="auto")[-1].n_clusters_ <= 6
    assert [fitted(mixed(f"syn_customers{j}")[0], n_clusters="auto")[-1].n_clusters_ for j in (0, 2)] == [3, 3]


@requires_data
@pytest.mark.parametrize("name", ["titanic", "zoo", "cmc", "hepatitis", "syn14", "syn48"])
def test_real_tables_with_shuffled_columns_are_one_cluster(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert fitted(shuffled(mixed(name)[0]), n_clusters="auto")[-1].n_clusters_ == 1
