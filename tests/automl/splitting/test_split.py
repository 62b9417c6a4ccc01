"""The hold-out: a partition, the same whatever the order of the file, with equal rows and entities on one side."""

from typing import Any

import pytest

pd = pytest.importorskip("pandas", reason="pandas is not installed")

import numpy as np  # noqa: E402 - comes with pandas
from hypothesis import given, settings  # noqa: E402 - needs no pandas, but stands with it
from hypothesis import strategies as st  # noqa: E402 - as above

from palmette.automl.kinds import kind_of  # noqa: E402 - as above
from palmette.automl.splitting.data_splits import SplitRequest  # noqa: E402 - as above
from palmette.automl.splitting.split import RowSplit, split  # noqa: E402 - as above
from palmette.errors import UserError  # noqa: E402 - as above


def kinds(table: pd.DataFrame) -> dict[str, Any]:
    return {str(name): kind_of(table[name], str(name)) for name in table.columns}


def split_of(table: pd.DataFrame, problem: str = "classification", test_rows: int = 0, **request: Any) -> RowSplit:
    made = SplitRequest(**{"target": "y", "problem": problem, **request})
    return split(table, made, kinds(table), test_rows)


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    """Rows that may repeat, of classes that may be rare, with labels that may be missing."""
    count = draw(st.integers(20, 120))
    random = np.random.default_rng(draw(st.integers(0, 10_000)))
    different = draw(st.integers(8, 150))
    classes = draw(st.integers(2, 5))
    picked = random.integers(0, different, count)
    labels = np.array([f"c{n}" for n in (random.random(count) ** 3 * classes).astype(int)], dtype=object)
    labels[:2], labels[2:4] = "c0", "c1"
    labels[random.random(count) < draw(st.sampled_from([0.0, 0.1]))] = np.nan
    return pd.DataFrame({"a": picked * 1.5, "b": [f"w{n % 11}" for n in picked], "y": labels})


@given(tables(), st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_the_split_is_a_partition_that_keeps_groups_and_classes(table: pd.DataFrame, seed: int) -> None:
    if table["y"].notna().sum() < 10 or table["y"].nunique() < 2:
        return
    made = split_of(table, seed=seed)
    assert sorted([*made.holdout, *made.train]) == list(np.flatnonzero(table["y"].notna()))
    assert len(made.train) and made.facts.rows == len(made.holdout) and made.facts.training_rows == len(made.train)
    held, learnt = table.iloc[made.holdout], table.iloc[made.train]
    assert set(held["y"]) <= set(learnt["y"])
    if made.facts.strategy == "grouped":
        assert not set(map(tuple, held[["a", "b"]].to_numpy())) & set(map(tuple, learnt[["a", "b"]].to_numpy()))
        assert made.groups is not None and len(made.groups) == len(made.train)


@given(tables(), st.integers(0, 5), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_the_order_of_the_file_changes_nothing(table: pd.DataFrame, seed: int, random: Any) -> None:
    if table["y"].notna().sum() < 10 or table["y"].nunique() < 2:
        return
    order = list(range(len(table)))
    random.shuffle(order)
    other = table.iloc[order].reset_index(drop=True)

    def held(of: pd.DataFrame) -> list[tuple[str, ...]]:
        return sorted(tuple(map(str, row)) for row in of.iloc[split_of(of, seed=seed).holdout].to_numpy())

    assert held(table) == held(other)
    assert split_of(table, seed=seed).facts == split_of(table, seed=seed).facts


def frame(count: int = 1000, seed: int = 1) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    a = random.normal(size=count)
    labels = np.where(a + random.normal(size=count) > 1, "rare", "often")
    return pd.DataFrame({"id": range(count), "a": a, "b": random.normal(size=count), "y": labels})


def test_classes_give_the_same_share() -> None:
    table = frame()
    made = split_of(table)
    shares = table.iloc[made.holdout]["y"].value_counts() / table["y"].value_counts()
    assert made.facts.strategy == "stratified" and (abs(shares - 0.2) < 0.01).all()


def test_another_seed_is_another_split() -> None:
    table = frame()
    first, second = split_of(table), split_of(table, seed=1)
    overlap = len(set(first.holdout) & set(second.holdout)) / len(first.holdout)
    assert 0.1 < overlap < 0.35


def test_regression_ranges_give_the_same_share() -> None:
    table = frame().assign(y=lambda f: np.exp(2 * f["a"]))
    made = split_of(table, "regression")
    held, learnt = table["y"].iloc[made.holdout], table["y"].iloc[made.train]
    assert abs(held.median() / learnt.median() - 1) < 0.2 and abs(np.log(held).std() / np.log(learnt).std() - 1) < 0.1


def test_a_file_that_holds_every_row_three_times_keeps_them_together() -> None:
    table = pd.concat([frame(300).drop(columns="id")] * 3, ignore_index=True)
    made = split_of(table)
    held, learnt = set(table.iloc[made.holdout]["a"]), set(table.iloc[made.train]["a"])
    assert made.facts.strategy == "grouped" and held and not held & learnt


@pytest.mark.parametrize("wish", [{"test_share": 0.2}, {"test_share": 0.0}, {"test_rows": 90}])
def test_what_belongs_together_is_known_of_the_rows_to_learn_from(wish: dict[str, Any]) -> None:
    """However they are cut: equal rows in two folds would make scores out of fold too good."""
    for table, name in ((pd.concat([frame(300).drop(columns="id")] * 3), "a"), (visits(belongs=True), "patient_id")):
        made = split_of(table.reset_index(drop=True), **wish)
        learnt = table[name].to_numpy()[made.train]
        assert made.groups is not None
        pairs = set(zip(made.groups, learnt, strict=True))
        assert len(np.unique(made.groups)) == len(np.unique(learnt)) == len(pairs)


def test_few_possible_rows_are_no_repetition() -> None:
    random = np.random.default_rng(0)
    table = pd.DataFrame({name: random.integers(0, top, 500) for name, top in {"a": 2, "b": 3, "y": 2}.items()})
    made = split_of(table)
    assert made.facts.strategy == "stratified" and any("few different" in reason for reason in made.facts.reasons)
    assert 80 <= len(made.holdout) <= 120


def visits(belongs: bool) -> pd.DataFrame:
    """Several visits a patient; whether the target belongs to the patient or to the visit."""
    random = np.random.default_rng(3)
    patients = random.integers(0, 100, 600)
    sick = random.integers(0, 2, 100)
    labels = sick[patients] if belongs else random.integers(0, 2, 600)
    return pd.DataFrame({"patient_id": patients, "a": random.normal(size=600), "y": labels})


def test_an_entity_to_which_the_target_belongs_stays_on_one_side() -> None:
    table = visits(belongs=True)
    made = split_of(table)
    assert made.facts.entity == "patient_id"
    assert not set(table.iloc[made.holdout]["patient_id"]) & set(table.iloc[made.train]["patient_id"])
    assert not split_of(visits(belongs=False)).facts.entity
    assert split_of(visits(belongs=False), group="patient_id").facts.entity == "patient_id"
    request, scanned = SplitRequest(target="y", problem="classification"), kinds(table) | {"a": "image"}
    assert split(visits(belongs=False), request, scanned).facts.entity == "patient_id"
    for name, is_entity in {"Speaker": True, "home_store": True, "customer_age": False, "age_group": False}.items():
        named = table.rename(columns={"patient_id": name})
        assert split_of(named).facts.entity == (name if is_entity else "")
    assert not split_of(table, test_rows=90).facts.entity


def test_rows_that_are_equal_but_for_what_the_request_hides_stay_on_one_side() -> None:
    random = np.random.default_rng(0)
    place = random.integers(0, 200, 400)
    table = pd.DataFrame({"a": place, "b": random.normal(size=200)[place], "note": random.normal(size=400)})
    table["y"] = random.integers(0, 2, 400)
    whole, part = split_of(table), split_of(table, hidden=("note",))
    assert whole.groups is None and part.groups is not None
    assert not {*table["a"].iloc[part.holdout]} & {*table["a"].iloc[part.train]}


@pytest.mark.parametrize(("share", "entity"), [(0.4, "patient_id"), (0.6, "")])
def test_one_entity_may_have_many_rows_but_not_most(share: float, entity: str) -> None:
    table = visits(belongs=True)
    many = table.index < share * len(table)
    table = table.assign(**{name: table[name].mask(many, 0) for name in ("patient_id", "y")})
    assert split_of(table).facts.entity == entity


def test_files_numbered_within_one_name_stay_on_one_side() -> None:
    """Such as the coughs of a patient, and a picture with its mask; not pictures numbered within their class, nor where
    the test files are given."""
    table = visits(belongs=True)

    def kept(names: pd.Series, **given: Any) -> bool:
        rows = pd.DataFrame({"sound": [f"/data/{name}{n}.wav" for n, name in enumerate(names)], "y": table["y"]})
        made = split(rows, SplitRequest(target="y", problem="classification"), {"sound": "audio"}, **given)
        return made.groups is not None and not {*names.iloc[made.holdout]} & {*names.iloc[made.train]}

    twins = pd.DataFrame({"tile": [f"/data/{n // 2}x.{('jpg', 'png')[n % 2]}" for n in range(600)], "y": table["y"]})
    twins["y"] = twins["y"].iloc[::2].repeat(2).to_numpy()
    made = split(twins, SplitRequest(target="y", problem="classification"), {"tile": "image"})
    assert not {*made.holdout // 2} & {*made.train // 2}
    patients = table["patient_id"].map("patient{}_cough_".format)
    assert kept(patients) and not kept(patients, test_rows=100)
    assert not kept(table["y"].map("class{}_".format)) and not kept(table.index.to_series().map("{}x".format))


@given(tables(), st.integers(0, 5), st.integers(5, 40))
@settings(max_examples=40, deadline=None)
def test_where_there_is_no_time_for_all_rows_fewer_are_learnt_from(table: pd.DataFrame, seed: int, most: int) -> None:
    """The hold-out is the same; every class is still learnt, and what stays together does."""
    whole, less = split_of(table, seed=seed), split_of(table, seed=seed, most_rows=most)
    assert less.facts.digest == whole.facts.digest and set(less.train) <= set(whole.train)
    assert set(table["y"].iloc[less.train]) == set(table["y"].iloc[whole.train])
    assert (less.facts.training_rows, less.facts.unused) == (len(less.train), len(whole.train) - len(less.train))
    if less.groups is not None and whole.groups is not None:
        left = np.isin(whole.train, less.train)
        assert len(less.groups) == len(less.train) and not set(whole.groups[left]) & set(whole.groups[~left])


def test_of_rows_in_time_the_latest_are_learnt_from() -> None:
    table = frame().assign(day=pd.date_range("2024-01-01", periods=250).repeat(4)).sample(frac=1, random_state=0)
    whole, less = split_of(table, time="day"), split_of(table, time="day", most_rows=100)
    assert len(less.train) == 100
    kept, left = less.train, np.setdiff1d(whole.train, less.train)
    assert table["day"].iloc[kept].min() >= table["day"].iloc[left].max()
    assert any("budget is too short for more" in reason for reason in less.facts.reasons)


def test_by_time_training_ends_before_the_hold_out_begins() -> None:
    table = frame().assign(day=pd.date_range("2024-01-01", periods=250).repeat(4)).sample(frac=1, random_state=0)
    table = table.reset_index(drop=True)
    table.loc[5, "day"] = pd.NaT
    made = split_of(table, time="day")
    assert table["day"].iloc[made.train].max() < table["day"].iloc[made.holdout].min() and 5 in made.train
    assert split_of(table).facts.strategy == "stratified"


def test_times_may_be_texts_and_must_differ() -> None:
    table = frame().assign(season=[f"20{place // 100:02}/{place // 100 + 1:02}" for place in range(1000)])
    made = split_of(table, time="season")
    assert set(table["season"].iloc[made.holdout]) == {"2008/09", "2009/10"}
    assert "it begins at 2008/09" in made.facts.reasons[0]
    assert len(split_of(table, time="season", test_from="2009").holdout) == 100
    for season, code in (("2024/25", "no-times/equal"), (None, "no-times/rows")):
        with pytest.raises(UserError) as caught:
            split_of(table.assign(season=season), time="season")
        assert caught.value.code == code.partition("/")[0]


def test_of_the_steps_of_a_series_the_latest_are_learnt_from() -> None:
    series = pd.DataFrame({"a": range(1000)})
    made = split_of(series, "forecasting", target="a", test_share=0.0, most_rows=300)
    assert list(made.train) == list(range(700, 1000))


def test_a_given_test_file_is_the_hold_out() -> None:
    made = split_of(frame(), test_rows=100)
    assert list(made.holdout) == list(range(900, 1000)) and made.facts.strategy == "given"


@pytest.mark.parametrize(
    ("count", "least", "most"), [(10, 1, 4), (40, 10, 14), (1000, 195, 205), (200_000, 19_900, 20_100)]
)
def test_sizes_are_sensible(count: int, least: int, most: int) -> None:
    made = split_of(frame(count).assign(y=lambda f: f["id"] % 2))
    assert least <= len(made.holdout) <= most
    assert any("cross-validation" in reason for reason in made.facts.reasons) == (count < 200)


def test_a_large_table_keeps_enough_of_a_rare_class() -> None:
    table = frame(200_000).assign(y=lambda f: f["id"] % 1000 == 0)
    held = table.iloc[split_of(table).holdout]
    assert len(held) > 30_000 and held["y"].sum() >= 35


TARGETS: dict[str, tuple[Any, str, str]] = {
    "one class": (lambda n: ["x"] * n, "classification", "one-class"),
    "no value": (lambda n: [None] * n, "classification", "target-missing"),
    "nine values": (lambda n: [1, 2, 3] * 3 + [None] * (n - 9), "classification", "too-few-rows"),
    "keys": (lambda n: [f"k{i}" for i in range(n)], "classification", "too-many-classes"),
    "words": (lambda n: ["low", "high"] * (n // 2), "regression", "target-not-numeric"),
    "one number": (lambda n: [7.0] * n, "regression", "one-class"),
}


@pytest.mark.parametrize("kind", TARGETS)
def test_a_target_that_cannot_be_learnt_is_refused(kind: str) -> None:
    make, task, code = TARGETS[kind]
    with pytest.raises(UserError) as caught:
        split_of(frame(40).assign(y=make(40)), task)
    assert caught.value.code == code and caught.value.remedy


@pytest.mark.parametrize(("count", "code"), [(0, "no-rows"), (1, "too-few-rows")])
def test_no_row_and_one_row_are_refused(count: int, code: str) -> None:
    with pytest.raises(UserError) as caught:
        split_of(frame(40).iloc[:count])
    assert caught.value.code == code


def test_clustering_has_a_hold_out_without_a_target() -> None:
    made = split_of(frame(), "clustering", target="")
    assert made.facts.strategy == "random" and len(made.holdout) == 200


@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_of_few_large_groups_the_smallest_is_held_out_whole(groups: int, task: str) -> None:
    """Also where one group alone has a class: that one is learnt from."""
    table = frame(300).assign(sex=lambda f: np.sqrt(f["id"] * groups**2 / 300).astype(int))
    smallest = table["sex"].value_counts().idxmin()
    for rare in (smallest, groups - 1):
        own = (table["sex"] == rare) & (table["id"] % 5 == 0)
        rows = table.assign(y=np.where(own, "rare", "usual") if task == "classification" else table["id"] % 97)
        made = split_of(rows, task, group="sex")
        held = set(rows["sex"].iloc[made.holdout])
        assert len(held) == 1 and not held & set(rows["sex"].iloc[made.train])
        assert (held == {smallest}) == (task == "regression" or rare != smallest)
        assert any(f"There are {groups} groups, and 1 of them" in one for one in made.facts.reasons)


def test_groups_that_divide_nothing_and_groups_with_a_class_each_are_said() -> None:
    table = frame(300).assign(all="x", side=lambda f: f["id"] % 2, y=lambda f: np.where(f["id"] % 2, "a", "b"))
    made = split_of(table, group="all")
    assert made.facts.strategy == "stratified" and len(made.holdout) == 60 and not made.facts.entity
    assert "'all' is the same in every row, so it divides nothing." in made.facts.reasons
    made = split_of(table, group="side")
    assert not len(made.holdout) and any("scores are out of fold" in one for one in made.facts.reasons)


def test_by_time_there_are_several_classes_to_learn_from() -> None:
    table = frame(100).assign(day=pd.date_range("2024-01-01", periods=100), y=["no"] * 85 + ["yes", "no"] * 7 + ["no"])
    with pytest.raises(UserError, match=r"80 training rows all have 'no' in 'y': .* latest rows by 'day'") as caught:
        split_of(table, time="day")
    assert caught.value.code == "one-class" and "otherwise" in caught.value.remedy
    assert set(table["y"].iloc[split_of(table).train]) == {"no", "yes"}


DAYS = pd.DataFrame({"day": pd.date_range("2023-01-01", periods=500), "x": range(500)}).assign(y=lambda t: t["x"] % 7)


@pytest.mark.parametrize(("since", "first"), [
    ("2024", "2024-01-01"), ("2023-12", "2023-12-01"), ("2023-12-24", "2023-12-24"),
    ("P3M", "2024-02-14"), ("P2W", "2024-04-30"),
    ("PT48H", "2024-05-12"),
])  # fmt: skip
def test_the_rows_to_test_on_begin_where_the_request_says(since: str, first: str) -> None:
    made = split_of(DAYS.sample(frac=1, random_state=0), problem="regression", time="day", test_from=since)
    shuffled = DAYS.sample(frac=1, random_state=0)
    assert shuffled["day"].iloc[made.holdout].min() == pd.Timestamp(first) > shuffled["day"].iloc[made.train].max()


def test_years_may_be_numbers() -> None:
    table = DAYS.assign(day=DAYS["day"].dt.year)
    for since in ("2024", "P1Y"):
        made = split_of(table, problem="regression", time="day", test_from=since)
        assert set(table["day"].iloc[made.holdout]) == {2024}


@pytest.mark.parametrize("since", ["2022", "2023", "2025-01", "2023-13", "2023-02-30", "P9Y"])
def test_a_date_that_leaves_one_side_without_rows_is_refused(since: str) -> None:
    with pytest.raises(UserError, match=r"'day' goes from 2023-01-01 .* to 2024-05-14") as caught:
        split_of(DAYS, problem="regression", time="day", test_from=since)
    assert caught.value.code == "split-impossible"


PARTS = frame(100).assign(part=(["train"] * 6 + ["Test"] * 2 + ["val"] * 2) * 10, is_train=[1, 1, 0, 1] * 25)


@pytest.mark.parametrize(("request_", "holdout"), [
    ({"column": "part"}, PARTS["part"] == "Test"),
    ({"column": "part", "by": "column"}, PARTS["part"] == "Test"),
    ({"column": "is_train", "by": "column"}, PARTS["is_train"] == 0),
])  # fmt: skip
def test_a_column_that_names_the_parts_is_the_split(request_: dict[str, Any], holdout: pd.Series) -> None:
    made = split_of(PARTS, **request_)
    assert list(made.holdout) == list(np.flatnonzero(holdout)) and len(made.train) + len(made.holdout) == 100
    assert (made.facts.strategy, made.facts.column) == ("given", request_["column"])
    assert "no model is given that column" in made.facts.reasons[0]


def test_validation_rows_are_the_hold_out_where_there_are_no_others_and_another_split_can_be_requested() -> None:
    table = PARTS.assign(part=PARTS["part"].replace("Test", "train"))
    assert len(split_of(table, column="part").holdout) == 20
    assert split_of(PARTS, column="part", by="random").facts.strategy == "random"
    assert split_of(PARTS, column="part", test_share=0).facts.strategy == "none"
    with pytest.raises(UserError, match="does not divide the rows") as caught:
        split_of(PARTS, column="b", by="column")
    assert caught.value.code == "split-impossible"


def test_rows_are_stratified_and_grouped_unless_a_random_split_is_requested() -> None:
    table = visits(belongs=True)
    assert split_of(table).facts.strategy == "grouped"
    assert split_of(table, by="stratified").facts.strategy == "stratified"
    assert split_of(table, by="random").facts.strategy == "random"
