"""Reports on a file of votes: what the methods rest on, and plots in the order of the board."""

from arena.formats.base import Battles, Vote, columns_of
from arena.ratings.report import RatingReport, RatingSettings, plots, rating_report
from tests.support.sheets import texts

WON = {("high", "middle"): 8, ("high", "low"): 9, ("middle", "low"): 7}
"""Battles of ten that the first model won against the second."""


def votes(won: dict[tuple[str, str], int]) -> list[Vote]:
    cast = [Vote("low", "high", "b")]
    for (a, b), wins in won.items():
        cast += [Vote(a, b, "a")] * wins
        cast += [Vote(a, b, "b")] * (10 - wins)
    return cast


def report(cast: list[Vote], **order) -> RatingReport:
    battles = Battles(None, *columns_of(cast), rows=({},) * len(cast))
    return rating_report(battles, RatingSettings(**{"bootstrap": 20, **order}))


def test_rows_and_columns_of_plots_are_in_the_order_of_the_board():
    found = report(votes(WON))
    assert [row.model for row in found.rows] == ["high", "middle", "low"]
    _, win_rates, met = plots(found)
    assert win_rates.table is not None and met.table is not None
    for place, row in enumerate(texts(win_rates.table)):
        chances = [float(cell.rstrip("%")) for cell in row[1:] if cell != "–"]
        assert chances == sorted(chances)
        assert all(chance < 50 for chance in chances[:place])
        assert all(chance > 50 for chance in chances[place:])
    assert [row[1:] for row in texts(met.table)] == [
        ["–", "10", "11"],
        ["10", "–", "10"],
        ["11", "10", "–"],
    ]


def test_elo_alone_needs_no_prior():
    """Who never lost can be compared by Elo, whatever Bradley-Terry would say without a prior."""
    unbeaten = {("high", "middle"): 10, ("high", "low"): 10, ("middle", "low"): 7}
    without = report(votes(unbeaten), method="elo", prior=0)
    assert without.rows == report(votes(unbeaten), method="elo").rows
    assert [row.rank for row in without.rows] == [1, 2, 3]


def test_groups_are_told_only_where_models_cannot_be_compared():
    told = "groups of models can't be compared"
    assert not any(told in text for text in report(votes(WON)).notices)
    islands = votes(WON) + votes({("north", "south"): 5})[1:]
    assert any(f"2 {told}" in text for text in report(islands).notices)


def test_single_votes_that_were_asked_for_are_no_surprise():
    notice = "votes without items, each treated as its own item (intervals are"
    assert any(notice in text for text in report(votes(WON)).notices)
    assert not any(notice in text for text in report(votes(WON), cluster="none").notices)


def test_intervals_of_bradley_terry_are_not_spoken_of_where_elo_alone_is_asked():
    few = [Vote("high", "middle", "a"), Vote("high", "middle", "b")]
    assert any("Wide intervals" in text for text in report(few).notices)
    assert not any("Wide intervals" in text for text in report(few, method="elo").notices)


def test_a_single_pass_of_elo_is_not_called_random_orders():
    one_pass, _ = plots(report(votes(WON), method="elo", bootstrap=0))
    assert (one_pass.title, one_pass.note) == (
        "Elo, one pass",
        "Elo in one pass over the votes, in the order of the file.",
    )


def test_what_only_the_prior_rates_is_not_spoken_of_where_elo_alone_is_asked():
    unbeaten = votes({("high", "middle"): 10})[1:]
    told = "rated only by the prior"
    assert any(told in text for text in report(unbeaten).notices)
    assert not any(told in text for text in report(unbeaten, method="elo").notices)


def test_what_intervals_take_for_independent_is_not_spoken_of_where_elo_alone_is_asked():
    some_known = votes(WON)
    some_known[0] = some_known[0]._replace(item="i", voter="v")
    for cast in (votes(WON), some_known):
        assert any("treated as" in text for text in report(cast).notices)
        assert not any("treated as" in text for text in report(cast, method="elo").notices)


def test_pictures_are_clusters_where_items_are_unknown():
    cast = [vote._replace(picture=f"p{place % 6}") for place, vote in enumerate(votes(WON))]
    found = report(cast)
    assert (found.bounds.cluster, found.bounds.clusters) == ("picture", 6)
    assert not any("without" in text and "item" in text for text in found.notices)
    cast[0] = cast[0]._replace(picture=None)
    notice = "votes without an item, each treated as independent: 1"
    assert notice in report(cast).notices
