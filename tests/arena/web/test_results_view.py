"""The chips of a board: each choice of a menu has its own address, whatever it is called."""

import re

from arena.database import now
from arena.leaderboard.board import BoardKey
from arena.leaderboard.selection import BoardSelection
from arena.model_facts import Fact, ModelFacts
from arena.web.model_filter import ModelFilter
from arena.web.results_view import ModelChoice, head_html


def test_a_family_and_an_organisation_may_be_called_like_the_choice_of_all():
    choice = BoardSelection(
        key=BoardKey(source=1, multi=False, family=1),
        source="Pets",
        family="all",
        votes=None,
        sources=("Pets",),
        families=("all", "cats"),
    )
    makers = {"X": Fact("all", "card", now()), "Y": Fact("Pets Inc", "card", now())}
    facts = {model: ModelFacts({"organisation": maker}) for model, maker in makers.items()}
    models = ModelChoice(ModelFilter(organisation="all"), None, facts)
    html = head_html([], choice, "everyone", models)
    addresses = re.findall(r'href="(/results[^"]*)"', html)
    assert any("family=" not in address for address in addresses if "organisation=all" in address)
    assert any("organisation=" not in address for address in addresses if "family=all" in address)
    assert any("family=all" in address and "organisation=all" in address for address in addresses)
