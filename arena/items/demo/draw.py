"""Draw every demo picture anew: `python -m arena.items.demo.draw`."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from arena.items.demo.boards import chess, flat, four
from arena.items.demo.charts import budget, museums
from arena.items.demo.growth import DAYS, lifting, tomato
from arena.items.demo.kit import Canvas
from arena.items.demo.maps import trains, weather
from arena.items.demo.papers import packet, receipt, recipe
from arena.items.demo.rooms import EVENINGS, MUGS, living_room, mugs, sofa
from arena.items.demo.scenes import EVENING, MORNING, harbour, park, storm
from arena.items.demo.signs import bus_stop, junction, parking
from arena.items.demo.sky import north
from arena.items.demo.solids import AFTER, BEFORE, Camera, solids

PICTURES: dict[str, Callable[[], Canvas]] = {
    "museums": museums,
    "budget": budget,
    "receipt": receipt,
    "recipe": recipe,
    "packet": packet,
    "chess": chess,
    "four": four,
    "flat": flat,
    "junction": junction,
    "parking": parking,
    "bus-stop": bus_stop,
    "weather": weather,
    "trains": trains,
    "north": north,
    "park": park,
    "storm": storm,
    "harbour-1": partial(harbour, MORNING),
    "harbour-2": partial(harbour, EVENING),
    "solids-1": partial(solids, Camera(), BEFORE),
    "solids-2": partial(solids, Camera(turn=-9, side=0.2), AFTER),
    "lifting": lifting,
    "room-1": partial(living_room, False),
    "room-2": partial(living_room, True),
    **{f"mugs-{place}": partial(mugs, row) for place, row in enumerate(MUGS, 1)},
    **{f"cat-{place}": partial(sofa, evening) for place, evening in enumerate(EVENINGS, 1)},
    **{f"tomato-{place}": partial(tomato, day) for place, day in enumerate(DAYS, 1)},
}


def draw_all(folder: Path) -> None:
    """Draw and write every picture into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in PICTURES.items():
        picture().save(folder / f"{name}.webp")


if __name__ == "__main__":
    draw_all(Path(__file__).parent / "pictures")
