"""Scenes out of doors: a park with ducks, a harbour drawn twice with five differences, a street after a storm."""

import random
from dataclasses import dataclass, replace

from arena.items.demo.kit import BLUE, GREY, INK, RED, WHITE, YELLOW, Canvas, Point, arc_points, moved, smooth
from arena.items.demo.signs import cloud, hills

SWIMMING = (
    (470, 600, 1.0, False),
    (590, 560, 0.85, True),
    (700, 640, 1.1, False),
    (820, 580, 0.9, True),
    (640, 700, 1.15, True),
    (905, 655, 1.0, False),
)
ASHORE = (
    (150, 690, 1.1, False),
    (270, 770, 1.25, True),
    (1085, 760, 1.2, True),
    (1180, 690, 1.0, False),
    (520, 825, 1.2, False),
)
"""Ducks: where, how big, and whether turned to the left."""
_POND = ((380, 610), (470, 530), (680, 500), (880, 520), (1000, 590), (990, 690), (840, 760), (620, 770), (440, 720))
_BODY = ((-46, -12), (-34, 0), (-20, -10), (4, -14), (24, -10), (36, 2), (26, 18), (0, 22), (-26, 16), (-40, 2))


@dataclass(frozen=True)
class Harbour:
    """What differs between the two harbour pictures."""

    sail: str = RED
    gulls: tuple[Point, ...] = ((470, 150), (560, 205), (610, 110))
    smoke: bool = True
    flag_right: bool = True
    crates: int = 3


MORNING = Harbour()
EVENING = replace(MORNING, sail=YELLOW, gulls=(*MORNING.gulls, (690, 190)), smoke=False, flag_right=False, crates=2)


def park() -> Canvas:
    """A pond with ducks in it and about it, and a sign with one more duck that does not count."""
    scene = Canvas(1280, 900, "#a8d3a0")
    scene.fade(0, 0, 1280, 420, "#8fcbe8", "#e6f3ee")
    for x, y, size in ((210, 90, 1.1), (760, 70, 0.8), (1120, 130, 1.0)):
        cloud(scene, x, y, size, "#f7fbfc")
    hills(scene, 420, ("#a9cdb0", "#93c08f", "#8fbf78"), 3)
    for x, y, size in ((90, 430, 1.3), (300, 410, 1.0), (560, 400, 0.9), (980, 405, 1.0), (1190, 430, 1.4)):
        _tree(scene, x, y, size)
    pond = smooth(_POND, closed=True)
    scene.poly([(x, y + 9) for x, y in pond], "#6f9e62")
    scene.poly(pond, "#7cc0dc")
    for x, y, wide in ((520, 660, 60), (760, 540, 80), (860, 720, 70), (560, 610, 40), (760, 690, 50)):
        scene.line([(x, y), (x + wide, y)], "#a6d8ea", 3)
    _bench(scene, 356, 502)
    _bench(scene, 1090, 540)
    _warning(scene, 150, 556)
    for x, y, size, left in SWIMMING:
        _duck(scene, x, y, size, left, True)
    for x, y, size, left in ASHORE:
        _duck(scene, x, y, size, left, False)
    _reeds(scene)
    return scene


def _tree(scene: Canvas, x: float, y: float, size: float) -> None:
    scene.disc(x, y + 52 * size, 60 * size, "#00000022", squash=0.18)
    scene.poly(moved([(-10, 54), (-6, -30), (6, -30), (10, 54)], x, y, size), "#80593c")
    for px, py, radius, fill in (
        (0, -100, 56, "#5a9a57"),
        (-42, -62, 46, "#519050"),
        (42, -60, 48, "#519050"),
        (0, -50, 50, "#5a9a57"),
        (-16, -104, 30, "#74b06a"),
        (30, -74, 20, "#6aa862"),
    ):
        scene.disc(x + px * size, y + py * size, radius * size, fill)


def _bench(scene: Canvas, x: float, y: float) -> None:
    for side in (-54, 54):
        scene.box(x + side - 4, y - 6, x + side + 4, y + 32, "#4d4a48")
        scene.box(x + side - 3, y - 50, x + side + 3, y, "#4d4a48")
    for top in (-52, -34, -8):
        scene.box(x - 70, y + top, x + 70, y + top + 12, "#a9713f", radius=3)


def _warning(scene: Canvas, x: float, y: float) -> None:
    scene.box(x - 5, y, x + 5, y + 118, "#7d5a3c")
    scene.box(x - 92, y - 74, x + 92, y + 34, "#fff7df", edge="#7d5a3c", width=5, radius=8)
    _duck(scene, x - 54, y - 16, 0.62, False, False, INK)
    scene.text(x - 12, y - 34, "Please do", 19, bold=True)
    scene.text(x - 12, y - 10, "not feed", 19, bold=True)
    scene.text(x - 12, y + 14, "the ducks", 19, bold=True)


def _duck(scene: Canvas, x: float, y: float, size: float, left: bool, swims: bool, flat: str = "") -> None:
    head, beak, wing, plumage = flat or "#2f6b4f", flat or "#f0a63a", flat or "#94795b", flat or "#b89a78"
    flip = -1 if left else 1
    if not flat:
        scene.disc(x, y + (20 if swims else 38) * size, 46 * size, "#ffffff55" if swims else "#00000026", squash=0.2)
    if not swims:
        for px in (-6, 10):
            foot = moved([(px, 16), (px, 36), (px + 11, 36)], x, y, size, left)
            scene.line(foot, beak, 4 * size)
    scene.poly(moved(smooth(_BODY, closed=True), x, y, size, left), plumage)
    scene.poly(moved([(18, -6), (22, -34), (38, -30), (36, 4)], x, y, size, left), head)
    scene.disc(x + 28 * flip * size, y - 34 * size, 14 * size, head)
    scene.poly(moved([(38, -40), (58, -32), (39, -26)], x, y, size, left), beak)
    if not flat:
        scene.line(moved([(18, -12), (28, -6), (37, -12)], x, y, size, left), WHITE, 4 * size)
        scene.disc(x + 32 * flip * size, y - 38 * size, 2.6 * size, INK)
        feathers = smooth([(-28, -2), (-8, -8), (14, -2), (4, 10), (-16, 10)], closed=True)
        scene.poly(moved(feathers, x, y, size, left), wing)
    if swims:
        ripple = [(-52, 30), (-46, 13), (-20, 17), (0, 14), (20, 17), (44, 13), (52, 30)]
        scene.poly(moved(ripple, x, y, size, left), "#7cc0dc")


def _reeds(scene: Canvas) -> None:
    dice = random.Random(9)
    for _ in range(15):
        x, y = dice.uniform(925, 1000), dice.uniform(690, 720)
        tip = (x + dice.uniform(-12, 12), y - dice.uniform(80, 150))
        scene.line([(x, y), tip], "#5c8a4c", 4)
        if dice.random() < 0.45:
            scene.line([tip, (tip[0], tip[1] + 26)], "#7a4f2d", 9)


def harbour(view: Harbour) -> Canvas:
    """A small harbour, with the details asked for."""
    scene = Canvas(1200, 820, "#7fb7cf")
    scene.fade(0, 0, 1200, 470, "#9fd3ea", "#fdeed6")
    scene.disc(1010, 130, 54, "#fbd36b")
    for x, y, size in ((220, 110, 1.0), (840, 90, 0.7)):
        cloud(scene, x, y, size, "#fbfdfd")
    ridge = [(-40, 470), (120, 392), (330, 428), (560, 404), (800, 440), (1060, 396), (1260, 470)]
    scene.poly(smooth(ridge), "#9cb8ae")
    scene.fade(0, 458, 1200, 820, "#6fb1cc", "#3f7f9f")
    dice = random.Random(11)
    for _ in range(46):
        x, y = dice.uniform(0, 1160), dice.uniform(480, 700)
        scene.line([(x, y), (x + dice.uniform(20, 60), y)], "#ffffff40", 2.5)
    _lighthouse(scene)
    _house(scene, view)
    _boat(scene, 640, 560, view.sail)
    for x, y in view.gulls:
        scene.line(smooth([(x - 30, y - 8), (x - 14, y - 14), (x, y), (x + 14, y - 14), (x + 30, y - 8)]), INK, 4)
    _buoy(scene, 420, 620)
    scene.box(0, 712, 1200, 820, "#a98d72")
    scene.box(0, 712, 1200, 730, "#c2a688")
    for x in range(30, 1200, 90):
        scene.line([(x, 730), (x, 820)], "#957a60", 3, round_ends=False)
    for place in range(view.crates):
        x, y = 560 + place * 108 - (place // 2) * 162, 634 - (place // 2) * 82
        _crate(scene, x, y)
    _mooring(scene)
    return scene


def _lighthouse(scene: Canvas) -> None:
    rock = [(860, 560), (900, 500), (980, 476), (1080, 490), (1170, 540), (1240, 600), (860, 600)]
    scene.poly(smooth(rock), "#7d7468")
    scene.poly([(952, 500), (972, 230), (1036, 230), (1056, 500)], WHITE)
    for top in (280, 390):
        high, low = (32 + (y - 230) * 0.075 for y in (top, top + 55))
        scene.poly([(1004 - high, top), (1004 + high, top), (1004 + low, top + 55), (1004 - low, top + 55)], RED)
    scene.box(960, 218, 1048, 232, INK, radius=3)
    scene.box(980, 172, 1028, 218, "#ffe9a3", edge=INK, width=4)
    scene.poly([(970, 174), (1004, 132), (1038, 174)], RED)
    scene.box(990, 460, 1018, 502, "#5b4a3f", radius=10)


def _house(scene: Canvas, view: Harbour) -> None:
    scene.poly([(0, 712), (0, 520), (330, 520), (350, 712)], "#8d8376")
    if view.smoke:
        for x, y, radius in ((246, 262, 15), (262, 232, 20), (288, 198, 26)):
            scene.disc(x, y, radius, "#eceff0")
    scene.box(226, 282, 262, 370, "#9a4f3f")
    scene.box(60, 380, 300, 560, "#f3e3c3")
    scene.poly([(36, 384), (180, 282), (324, 384)], "#b4573f")
    scene.box(160, 452, 218, 560, BLUE, radius=4)
    scene.disc(206, 510, 5, YELLOW)
    for x in (86, 238):
        scene.box(x, 424, x + 48, 484, "#bfe3ef", edge=WHITE, width=6)
        scene.line([(x + 24, 424), (x + 24, 484)], WHITE, 4)
    scene.box(366, 380, 374, 712, "#6d6359")
    tip = 1 if view.flag_right else -1
    flag = smooth([(370, 388), (370 + 34 * tip, 378), (370 + 76 * tip, 392)])
    scene.poly([*flag, *reversed([(x, y + 46) for x, y in flag])], "#3f8f5f")
    scene.poly([(x, y + 16) for x, y in flag] + [(x, y + 30) for x, y in reversed(flag)], WHITE)


def _boat(scene: Canvas, x: float, y: float, sail: str) -> None:
    scene.disc(x, y + 66, 130, "#2f6a8655", squash=0.14)
    scene.line([(x, y), (x, y - 250)], "#6d4a30", 8)
    scene.poly([(x + 10, y - 240), (x + 10, y - 20), (x + 132, y - 20)], sail)
    scene.poly([(x - 10, y - 214), (x - 10, y - 20), (x - 96, y - 20)], "#fbf6ea")
    hull = [(-150, 0), (-120, 52), (-40, 66), (70, 66), (130, 40), (156, 0)]
    scene.poly(moved(smooth(hull), x, y), "#7a4a31")
    scene.poly([(x - 150, y), (x + 156, y), (x + 150, y + 16), (x - 144, y + 16)], "#f1e6d2")


def _buoy(scene: Canvas, x: float, y: float) -> None:
    scene.disc(x, y + 34, 46, "#ffffff50", squash=0.2)
    scene.poly([(x - 34, y + 34), (x - 16, y - 40), (x + 16, y - 40), (x + 34, y + 34)], "#e2773c")
    scene.poly([(x - 28, y + 10), (x - 22, y - 14), (x + 22, y - 14), (x + 28, y + 10)], WHITE)
    scene.disc(x, y - 50, 11, "#f6c945")


def _crate(scene: Canvas, x: float, y: float) -> None:
    scene.box(x, y, x + 96, y + 82, "#c79a5f", edge="#8f6636", width=5)
    scene.line([(x + 8, y + 8), (x + 88, y + 74)], "#8f6636", 6)
    scene.line([(x + 88, y + 8), (x + 8, y + 74)], "#8f6636", 6)


def _mooring(scene: Canvas) -> None:
    for x in (900, 1080):
        scene.box(x - 16, 672, x + 16, 724, "#4d4a48", radius=6)
        scene.box(x - 24, 660, x + 24, 682, "#5d5a58", radius=8)
    scene.line(smooth([(900, 690), (960, 730), (1030, 728), (1080, 690)]), "#e9d9b8", 6)
    scene.disc(250, 748, 50, edge="#e9d9b8", width=8, squash=0.3)
    scene.disc(250, 742, 34, edge="#d9c7a2", width=7, squash=0.3)


def storm() -> Canvas:
    """A street after a storm: a tree lies across a power line, whose end sparks beside a parked car."""
    scene = Canvas(1240, 860, "#9db0bd")
    scene.fade(0, 0, 1240, 560, "#6f8496", "#d6dcdc")
    for x, y, size in ((180, 80, 1.5), (520, 110, 1.1), (900, 70, 1.6), (1160, 150, 1.0)):
        cloud(scene, x, y, size, "#8b9aa6")
    scene.box(0, 560, 1240, 860, "#7f9a72")
    scene.box(0, 668, 1240, 860, "#5d6469")
    scene.box(0, 652, 1240, 674, "#b3afa6")
    for x in range(20, 1240, 170):
        scene.box(x, 770, x + 90, 778, "#dcd9cf")
    _cottage(scene)
    for x in (110, 1130):
        scene.box(x - 9, 150, x + 9, 660, "#6d553f")
        scene.box(x - 62, 186, x + 62, 200, "#6d553f")
        for side in (-50, 50):
            scene.box(x + side - 5, 170, x + side + 5, 188, "#d9dde0", radius=3)
    scene.line(smooth([(60, 172), (400, 250), (760, 296), (1080, 172)]), INK, 4)
    scene.line(smooth([(160, 172), (360, 262), (560, 430), (618, 600), (596, 702), (650, 724)]), INK, 5)
    scene.line(smooth([(1180, 172), (1188, 330), (1180, 470), (1190, 560)]), INK, 5)
    _fallen(scene)
    _car(scene, 290, 660)
    _sparks(scene, 654, 724)
    return scene


def _cottage(scene: Canvas) -> None:
    scene.box(420, 330, 760, 600, "#e9d9c3")
    scene.poly([(384, 338), (590, 196), (796, 338)], "#8a5a4a")
    scene.box(556, 470, 626, 600, "#46637a", radius=4)
    for x in (452, 656):
        scene.box(x, 400, x + 74, 470, "#ffe7a6", edge=WHITE, width=6)
        scene.line([(x + 37, 400), (x + 37, 470)], WHITE, 5)
        scene.line([(x, 435), (x + 74, 435)], WHITE, 5)
    for left, right in ((376, 532), (650, 838)):
        scene.box(left, 584, right, 592, "#e2dccf")
    for x in range(380, 840, 34):
        if not 540 < x < 640:
            scene.box(x, 566, x + 14, 626, "#f4efe4", radius=5)


def _fallen(scene: Canvas) -> None:
    scene.poly(smooth([(1010, 650), (1040, 606), (1092, 600), (1124, 650)]), "#5b4636")
    for turn in ((1040, 640, 1018, 600), (1066, 640, 1078, 584), (1094, 644, 1116, 596)):
        scene.line([turn[:2], turn[2:]], "#4d3a2c", 9)
    scene.poly([(1036, 646), (1092, 632), (850, 330), (818, 352)], "#73543c")
    for start, end in (((900, 410), (960, 330)), ((870, 370), (770, 350)), ((940, 470), (850, 470))):
        scene.line([start, end], "#73543c", 16)
    dice = random.Random(14)
    for _ in range(60):
        turn, reach = dice.uniform(0, 360), 118 * dice.random() ** 0.5
        x, y = arc_points(826, 318, reach, turn, turn + 1, 0.72)[0]
        scene.disc(x, y, dice.uniform(26, 44), dice.choice(("#4f7a4a", "#5d8a55", "#6b985f")))
    for x, y in ((958, 322), (846, 466), (980, 346), (866, 480), (936, 340)):
        scene.disc(x, y, 30, "#5d8a55")


def _car(scene: Canvas, x: float, y: float) -> None:
    scene.disc(x + 30, y + 96, 190, "#00000040", squash=0.1)
    scene.poly(smooth([(x - 90, y + 4), (x - 54, y - 62), (x + 80, y - 66), (x + 132, y + 2)]), "#b8483f")
    scene.poly([(x - 66, y), (x - 42, y - 48), (x + 14, y - 50), (x + 14, y)], "#c9e2ea")
    scene.poly([(x + 26, y), (x + 26, y - 50), (x + 72, y - 50), (x + 104, y)], "#c9e2ea")
    body = smooth([(-148, 40), (-138, 12), (-90, 0), (130, 0), (192, 18), (206, 44)])
    scene.poly(moved([*body, (206, 78), (-148, 78)], x, y), "#c7524a")
    scene.box(x - 148, y + 50, x + 206, y + 62, "#a8403a")
    for side in (-82, 138):
        scene.disc(x + side, y + 74, 38, "#2b2f33")
        scene.disc(x + side, y + 74, 18, "#b9c0c5")
    scene.disc(x + 196, y + 34, 11, "#fff2c4")


def _sparks(scene: Canvas, x: float, y: float) -> None:
    scene.glow(x, y, 110, "#ffe873", 0.9)
    star: list[Point] = []
    for turn in range(0, 360, 15):
        star.append(arc_points(x, y, 42 if turn % 30 == 0 else 15, turn, turn + 1)[0])
    scene.poly(star, "#fff6c2", edge="#f2b630", width=2)
    for turn in range(10, 360, 40):
        start, end = arc_points(x, y, 54, turn, turn + 1)[0], arc_points(x, y, 74, turn, turn + 1)[0]
        scene.line([start, end], "#f2b630", 4)
    scene.disc(x, y, 5, GREY)
