"""The northern sky above a camp, with the true places of its brightest stars."""

import math
import random

from arena.items.demo.kit import Canvas, Point, smooth

DIPPER = (
    (11.06, 61.75, 1.8),
    (11.03, 56.38, 2.4),
    (11.90, 53.69, 2.4),
    (12.26, 57.03, 3.3),
    (12.90, 55.96, 1.8),
    (13.40, 54.93, 2.2),
    (13.79, 49.31, 1.9),
)
LITTLE = (
    (2.53, 89.26, 2.0),
    (17.54, 86.59, 4.3),
    (16.77, 82.04, 4.2),
    (15.73, 77.79, 4.3),
    (16.29, 75.76, 4.9),
    (14.85, 74.16, 2.1),
    (15.35, 71.83, 3.0),
)
QUEEN = ((0.15, 59.15, 2.3), (0.675, 56.54, 2.2), (0.945, 60.72, 2.4), (1.43, 60.24, 2.7), (1.91, 63.67, 3.4))
"""Right ascension in hours, declination in degrees, magnitude: the Big Dipper, the Little Dipper, Cassiopeia."""

POLE: Point = (640, 372)
PIXELS_PER_DEGREE = 9.6
SIDEREAL = 7.2
"""The hour of right ascension that stands above the pole."""


def place(hours: float, declination: float) -> Point:
    """Where a star stands in the picture, facing north."""
    turn = math.radians((hours - SIDEREAL) * 15)
    reach = (90 - declination) * PIXELS_PER_DEGREE
    return POLE[0] + reach * math.sin(turn), POLE[1] - reach * math.cos(turn)


def north() -> Canvas:
    """The night sky to the north, four stars lettered."""
    sky = Canvas(1280, 900, "#0d1b33")
    sky.fade(0, 0, 1280, 760, "#0a1530", "#2c4a72")
    dice = random.Random(21)
    for _ in range(420):
        x, y, size = dice.uniform(0, 1280), dice.uniform(0, 730), dice.choice((0.7, 0.9, 1.1))
        sky.disc(x, y, size, dice.choice(("#7d8fb0", "#93a4c2", "#6d7fa3")))
    for hours, declination, magnitude in (*DIPPER, *LITTLE, *QUEEN):
        _star(sky, *place(hours, declination), max(2.2, 7.2 - 1.15 * magnitude))
    _star(sky, 214, 650, 6.6, "#ffe2b8")
    for letter, (x, y), across in (
        ("A", place(*LITTLE[0][:2]), 30),
        ("B", place(*DIPPER[0][:2]), -30),
        ("C", place(*LITTLE[5][:2]), 30),
        ("D", (214, 650), 30),
    ):
        sky.disc(x + across, y - 22, 17, "#ffffff26")
        sky.text(x + across, y - 22, letter, 25, "#ffe9a8", anchor="mm", bold=True)
    _camp(sky)
    return sky


def _star(sky: Canvas, x: float, y: float, size: float, fill: str = "#ffffff") -> None:
    sky.glow(x, y, size * 4.2, "#bcd2ff", 0.5)
    sky.disc(x, y, size, fill)


def _camp(sky: Canvas) -> None:
    dice = random.Random(4)
    for base, fill in ((760, "#1b2f4a"), (800, "#111f33")):
        ridge: list[Point] = [(x, base - dice.uniform(0, 60)) for x in range(-150, 1500, 150)]
        sky.poly([*smooth(ridge), (1500, 900), (-150, 900)], fill)
    for x in (60, 118, 170, 1010, 1074, 1150, 1216):
        tall = dice.uniform(90, 150)
        for step in range(4):
            top, half = 822 - tall + step * tall * 0.2, 14 + step * 9
            sky.poly([(x, top), (x - half, top + tall * 0.34), (x + half, top + tall * 0.34)], "#0b1626")
    sky.poly([(0, 846), (1280, 832), (1280, 900), (0, 900)], "#0a1422")
    sky.glow(640, 812, 190, "#ffb45e", 0.5)
    sky.poly([(520, 858), (640, 742), (760, 858)], "#d98a3d")
    sky.poly([(640, 742), (760, 858), (700, 858)], "#b96c2a")
    sky.poly([(640, 758), (612, 858), (668, 858)], "#ffd98a")
