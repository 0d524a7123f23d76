"""Bodies that bend: a tomato plant on four days, and three people lifting a box."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from arena.items.demo.kit import INK, WHITE, Canvas, Point, moved, smooth, turned


@dataclass(frozen=True)
class Day:
    """One picture of the tomato plant."""

    number: int
    tall: float
    leaves: int
    flowers: int = 0
    fruit: int = 0
    drowned: bool = False


DAYS = (Day(1, 30, 1), Day(14, 150, 3), Day(35, 400, 6, flowers=5), Day(60, 420, 6, fruit=4, drowned=True))


def tomato(day: Day) -> Canvas:
    """A potted tomato on a window sill."""
    sill = Canvas(900, 900, "#eaf1ec")
    sill.fade(0, 0, 900, 900, "#e6eff0", "#dfe5dc")
    sill.box(70, -20, 830, 640, WHITE)
    for left in (96, 462):
        sill.fade(left, 0, left + 342, 616, "#b7dcf0", "#e9f4ee")
        ridge = smooth([(left, 600), (left + 90, 560), (left + 200, 584), (left + 342, 548)])
        sill.poly([*ridge, (left + 342, 616), (left, 616)], "#a9c9a0")
    sill.box(0, 760, 900, 900, "#efe7d8")
    sill.box(0, 748, 900, 772, "#fbf6ea")
    sill.shadow([(300, 812), (640, 812), (700, 838), (330, 838)], 12, 0.3)
    _saucer(sill, day.drowned)
    _stem(sill, day)
    _pot(sill, day.drowned)
    _tag(sill, day.number)
    if day.drowned:
        _can(sill)
    return sill


def _saucer(sill: Canvas, wet: bool) -> None:
    sill.disc(450, 808, 160, "#9c5233", squash=0.16)
    sill.disc(450, 800, 160, "#b8653f", squash=0.15)
    sill.disc(450, 799, 146, "#5fa6c8" if wet else "#8f4a2e", squash=0.12)
    if wet:
        sill.line([(326, 800), (352, 806)], "#d3ecf5", 4)
        sill.line([(548, 806), (574, 800)], "#d3ecf5", 4)


def _pot(sill: Canvas, wet: bool) -> None:
    sill.disc(450, 612, 124, "#3a2519" if wet else "#6b4a33", squash=0.14)
    sill.poly([(326, 612), (574, 612), (548, 790), (352, 790)], "#c8714a")
    sill.disc(450, 790, 98, "#c8714a", squash=0.12)
    sill.poly([(326, 612), (372, 612), (384, 790), (352, 790)], "#d98a63")
    sill.poly(smooth([(318, 606), (450, 626), (582, 606), (582, 646), (450, 668), (318, 646)], closed=True), "#d27c54")
    sill.disc(450, 612, 126, "#3a2519" if wet else "#6b4a33", squash=0.12)


def _leaf(sill: Canvas, x: float, y: float, angle: float, size: float, fill: str) -> None:
    edge = [(18, 17), (40, 13), (58, 24), (78, 12)]
    blade = smooth([(0, 0), *((x, -y) for x, y in edge), (104, 0), *reversed(edge)], closed=True)
    sill.poly(moved(turned(blade, angle), x, y, size), fill)
    sill.line(moved(turned([(0, 0), (92, 0)], angle), x, y, size), "#ffffff55", 2)


def _stem(sill: Canvas, day: Day) -> None:
    foot = 614.0
    sway = smooth([(450, foot), (456, foot - day.tall * 0.4), (444, foot - day.tall * 0.7), (452, foot - day.tall)])
    if day.number > 30:
        sill.line([(474, foot), (474, 150)], "#c2a06b", 8)
    sill.line(sway, "#5b8f45", 5 + day.tall / 40)
    dice = random.Random(2)
    if day.number == 1:
        for angle in (-160, -20):
            _leaf(sill, 450, foot - day.tall, angle, 0.42, "#7dbb5c")
        return
    for place in range(day.leaves):
        share = (place + 0.8) / day.leaves
        x, y = sway[int(share * (len(sway) - 1))]
        size = (0.8 + 0.6 * (1 - share)) * (0.75 if day.number < 30 else 1.35)
        sick = day.drowned and place < 3
        for side in (-1, 1):
            droop = 34 if sick else -20
            angle = (droop if side == 1 else 180 - droop) + dice.uniform(-9, 9)
            fill = ("#e2c94a", "#d3b53e", "#c9c24f")[place % 3] if sick else ("#5fa650", "#4f9547")[place % 2]
            _leaf(sill, x, y, angle, size, fill)
    _hang(sill, day, sway)


def _hang(sill: Canvas, day: Day, sway: list[Point]) -> None:
    spots = ((-74, 0.42), (70, 0.55), (-60, 0.74), (62, 0.86), (4, 0.98))
    for px, share in spots[: day.flowers]:
        x, y = sway[int(share * (len(sway) - 1))]
        for turn in range(0, 360, 72):
            sill.poly(moved(turned([(0, 0), (-7, -13), (0, -23), (7, -13)], turn), x + px, y - 14), "#f4cf3e")
        sill.disc(x + px, y - 14, 6, "#d99a2b")
    for px, share in spots[: day.fruit]:
        x, y = sway[int(share * (len(sway) - 1))]
        sill.line(smooth([(x, y - 6), (x + px * 0.6, y - 10), (x + px, y + 10)]), "#5b8f45", 4)
        sill.disc(x + px, y + 32, 24, "#8dbb55")
        sill.disc(x + px - 8, y + 24, 7, "#b9d98a")


def _tag(sill: Canvas, number: int) -> None:
    sill.box(58, 40, 268, 128, "#fffdf6", edge=INK, width=4, radius=14)
    sill.text(163, 85, f"Day {number}", 44, anchor="mm", bold=True)


def _can(sill: Canvas) -> None:
    sill.disc(740, 820, 110, "#00000028", squash=0.12)
    sill.line(smooth([(790, 690), (860, 680), (872, 760), (806, 790)]), "#4f7f8f", 14)
    sill.poly([(668, 740), (606, 664), (622, 652), (690, 706)], "#5b8fa0")
    sill.poly([(588, 668), (628, 634), (640, 650), (602, 684)], "#4f7f8f")
    sill.poly([(668, 672), (800, 672), (812, 820), (656, 820)], "#6ba3b5")
    sill.disc(734, 820, 78, "#6ba3b5", squash=0.1)
    sill.disc(734, 672, 66, "#3f6a78", squash=0.14)


def lifting() -> Canvas:
    """Three people lift the same box: bent over, from the knees, and at arm's length."""
    poster = Canvas(1400, 720, "#f4efe4")
    poster.text(700, 62, "How do you lift it?", 44, anchor="mm", bold=True)
    poses = (
        (
            "A",
            "#d27c54",
            [(0, 0), (-8, -92), (-14, -186)],
            [(-14, -186), (4, -246), (66, -256), (112, -214)],
            (152, -186),
            [(112, -214), (122, -140), (132, -66)],
            92,
        ),
        (
            "B",
            "#3f8f5f",
            [(0, 0), (66, -74), (-34, -104)],
            [(-34, -104), (-6, -166), (38, -224)],
            (66, -272),
            [(38, -224), (70, -150), (112, -70)],
            84,
        ),
        (
            "C",
            "#3f7fb5",
            [(0, 0), (50, -84), (-30, -148)],
            [(-30, -148), (30, -192), (86, -226)],
            (128, -256),
            [(86, -226), (160, -156), (212, -74)],
            190,
        ),
    )
    for place, (letter, shirt, leg, back, head, arm, box) in enumerate(poses):
        left = 30 + place * 455
        poster.box(left, 112, left + 430, 690, WHITE, radius=22)
        poster.disc(left + 54, 166, 34, INK)
        poster.text(left + 54, 166, letter, 38, WHITE, anchor="mm", bold=True)
        poster.box(left + 24, 628, left + 406, 638, "#d8cfbd", radius=5)
        foot = (left + (130 if letter != "C" else 76), 620.0)
        _lifter(poster, foot, shirt, (leg, back, arm), head, box)
    return poster


def _lifter(
    poster: Canvas, foot: Point, shirt: str, limbs: tuple[Sequence[Point], ...], head: Point, box: float
) -> None:
    x, y = foot
    leg, back, arm = limbs
    size, skin = 1.18, "#e3b491"
    poster.box(x + box * size, y - 84, x + box * size + 108, y + 8, "#cfa56d", edge="#9c7440", width=4)
    poster.box(x + box * size + 44, y - 84, x + box * size + 64, y + 8, "#b98c52")
    poster.line(moved([leg[0], (40, 0)], x, y - 6, size), "#4a3a30", 22)
    poster.line(moved(leg, x, y - 8, size), "#3c4652", 40)
    poster.disc(*moved([leg[1]], x, y - 8, size)[0], 20, "#3c4652")
    poster.line(moved([back[-1], head], x, y - 8, size), skin, 22)
    poster.line(moved(smooth(back), x, y - 8, size), shirt, 52)
    poster.disc(*moved([back[-1]], x, y - 8, size)[0], 27, shirt)
    poster.disc(*moved([head], x, y - 8, size)[0], 36, skin)
    hair = moved([head], x - 6, y - 18, size)[0]
    poster.disc(*hair, 32, "#5a3b28")
    poster.disc(*moved([head], x + 8, y - 2, size)[0], 28, skin)
    poster.line(moved(smooth(arm), x, y - 8, size), skin, 24)
    poster.disc(*moved([arm[-1]], x, y - 8, size)[0], 15, skin)
