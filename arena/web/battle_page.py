"""Battle page: one finished battle, with both answers under their models' names and how people chose."""

from dataclasses import dataclass

from arena.battles.outcomes import Outcomes
from arena.io.scaled_pictures import ScaledPictures
from arena.items.store import ItemBank
from arena.templates import macros
from arena.web.addresses import MOST_NAME
from arena.web.pictures import shown_images
from arena.web.results_address import model_address

HTML = macros("finished.html")


@dataclass(frozen=True)
class BattlePages:
    """Pages of battles whose vote is final."""

    outcomes: Outcomes
    items: ItemBank
    scaled: ScaledPictures

    def html(self, token: str) -> str | None:
        """Returns a battle's page; None if it can't be shown. Raises DatabaseError."""
        battle = self.outcomes.find_finished(token)
        if battle is None:
            return None
        item = self.items.bank().items.get(battle.item)
        if item is None:
            return None
        links = {name: model_address(name, {}) for name in battle.names if len(name) <= MOST_NAME}
        return HTML.page(battle, links, item, shown_images(item.images, self.scaled))
