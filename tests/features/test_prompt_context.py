"""What models are shown of a feature run: complete, the most relevant first, the same on every machine."""

from collections.abc import Callable
from pathlib import Path

import pytest

from palmette.features import prompt_context
from palmette.features.repository import Checkout, read_conventions
from palmette.features.spec.resolve import load_view
from palmette.features.spec.run import Run
from palmette.features.spec.view import View
from palmette.llm import NEEDED, Section

OFFERS = Path(__file__).parents[2] / "examples" / "offers"
TEAM = Checkout(OFFERS / "repository")


def whole(section: Section) -> str:
    return "\n\n".join(section.items)


def view_of(name: str) -> View:
    return load_view(OFFERS / "specs" / f"{name}.yaml", OFFERS / "registry.yaml")


def test_every_feature_column_and_edge_is_said(user_offers: Callable[..., View]) -> None:
    text = whole(prompt_context.meaning(user_offers()))
    assert "- redemptions_30d [bigint not null, 0 where null]: number of rows of redemptions in the 30 days" in text
    assert "- average_amount [double]: amount_7d / redemptions_30d" in text
    assert "[T - w, T)" in text and "availability time" in text
    columns = text.partition("Columns of the output, in this order: ")[2].partition("\n\n")[0]
    assert columns.split(", ")[0] == "user_id bigint" and columns.count(", ") == 5


@pytest.mark.parametrize(("spec", "said", "unsaid"), [
    ("offer_daily",
     "ends the partition's day|`share`|one for every offer_id that has a row that counts in interactions in [T - 7d, T)"
     " or in redemptions in [T - 28d, T),",
     "midnight in|per user_id|`mode`|scd2"),
    ("decision_point_in_time",
     "exactly those of decisions|Europe/Lisbon|scd2 row|visible at T only, per user_id|of redeemed_at, redemption_id",
     "midnight|`mode`"),
    ("user_card_transactions", "midnight in Europe/Paris|'0.00' where null|only for other features", "scd2"),
])  # fmt: skip
def test_the_rules_are_those_that_matter_for_the_view(spec: str, said: str, unsaid: str) -> None:
    text = whole(prompt_context.meaning(view_of(spec)))
    assert [part for part in said.split("|") if part not in text] == []
    assert [part for part in unsaid.split("|") if part in text] == []


def test_tables_say_what_the_view_uses_in_full_and_no_places(user_offers: Callable[..., View]) -> None:
    tables = prompt_context.registry_of(user_offers())
    assert tables.rank == NEEDED and len(tables.items) == 2
    redemptions, users = tables.items
    assert "event table, time `redeemed_at`; keys: id" in redemptions
    assert "available from `loaded_at`" in redemptions and "partitioned by `day`" in redemptions
    assert "  - amount double" in redemptions and "  - country string" in users
    assert "data/" not in whole(tables)
    assert "other columns: surface string" in whole(prompt_context.registry_of(view_of("offer_daily")))


def test_values_of_personal_columns_are_not_shown(user_offers: Callable[..., View]) -> None:
    table = user_offers().tables["users"]
    column = table.columns[1].model_copy(update={"values": ("FR", "PT"), "personal": True})
    shown = whole(prompt_context.registry([table.model_copy(update={"columns": (table.columns[0], column)})]))
    assert "country string, personal data" in shown and "FR" not in shown


def test_without_a_readme_there_is_nothing_to_show(tmp_path: Path) -> None:
    assert prompt_context.readme(Checkout(tmp_path), "NONE.md", "scripts").items == ()


def test_the_neighbour_is_another_view_that_is_like_it(run_spec: Run) -> None:
    view = view_of("user_offer_redemptions")
    conventions = read_conventions(TEAM.root, run_spec, view, TEAM)
    script, test = prompt_context.neighbour(TEAM, view), prompt_context.neighbour_test(TEAM, view, conventions)
    assert "def build_features(" in whole(script) and "def test_" not in whole(script)
    assert "def test_" in whole(test)
    outline = whole(prompt_context.neighbour(TEAM, view, outlined=True))
    assert '"""One row per offer, redeemed or not."""\n    ...\n\n\ndef ' in outline and "groupBy" not in outline
    own = prompt_context.neighbour(TEAM, view_of("user_offer_redemptions"))
    assert view.name not in whole(own)


def test_a_test_file_that_is_not_python_is_passed_over(run_spec: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    view = view_of("user_offer_redemptions")
    conventions = read_conventions(TEAM.root, run_spec, view, TEAM)
    monkeypatch.setattr(Checkout, "text", lambda *_: "print 'python 2'")
    assert prompt_context.neighbour_test(TEAM, view, conventions).items == ()


def test_a_repository_without_scripts_has_no_neighbour(tmp_path: Path, run_spec: Run) -> None:
    view, empty = view_of("offer_daily"), Checkout(tmp_path)
    assert prompt_context.neighbour(empty, view).items == ()
    assert prompt_context.neighbour_test(empty, view, read_conventions(tmp_path, run_spec, view)).items == ()
