"""Things by the road: a junction with its signs, a parking sign, a bus stop's clock and timetable."""

import random

from arena.items.demo.kit import BLUE, GREY, INK, LIGHT, RED, WHITE, YELLOW, Canvas, Point, arc_points, smooth, turned

TIME = (14, 52)
TIMETABLE = (
    ("14:40", "14:52", "15:05"),
    ("15:00*", "15:12", "15:25"),
    ("15:20", "15:32", "15:45"),
    ("15:40*", "15:52", "16:05"),
    ("16:00", "16:12", "16:25"),
    ("16:40", "16:52", "17:05"),
)
"""Station, Market Square, Mill Lane; a star runs Monday to Friday only."""


def hills(scene: Canvas, horizon: float, colours: tuple[str, ...], seed: int) -> None:
    """Rows of soft hills, the farthest first, down to the bottom of the picture."""
    dice = random.Random(seed)
    for row, colour in enumerate(colours):
        base = horizon - 60 + row * 34
        ridge: list[Point] = [(x, base - dice.uniform(0, 58)) for x in range(-120, scene.width + 240, 170)]
        scene.poly([*smooth(ridge), (scene.width + 200, scene.height), (-200, scene.height)], colour)


def cloud(scene: Canvas, x: float, y: float, size: float = 1, fill: str = "#ffffff") -> None:
    """A heap of white."""
    for px, py, radius in ((-52, 6, 26), (-20, -10, 36), (22, -4, 32), (54, 8, 22)):
        scene.disc(x + px * size, y + py * size, radius * size, fill)
    scene.box(x - 70 * size, y + 4 * size, x + 68 * size, y + 31 * size, fill, radius=14 * size)


def junction() -> Canvas:
    """Three ways at a junction; the short way to the ferry has a height limit."""
    scene = Canvas(1280, 900, "#bfe0ee")
    scene.fade(0, 0, 1280, 540, "#7fbce0", "#eef5f1")
    for x, y, size in ((120, 96, 1.0), (1190, 120, 0.8), (1060, 250, 0.5)):
        cloud(scene, x, y, size, "#f3f8fa")
    hills(scene, 560, ("#a5c3bb", "#8cb096", "#7aa873"), 12)
    for x, y, size in ((60, 560, 0.9), (1100, 556, 0.8), (1190, 572, 1.1), (360, 552, 0.6)):
        _roadside_tree(scene, x, y, size)
    road, paint = "#646b72", "#f2efe6"
    scene.poly([(0, 612), (1280, 612), (1280, 694), (0, 694)], road)
    scene.poly([(596, 618), (684, 618), (652, 536), (628, 536)], road)
    scene.poly([(330, 900), (950, 900), (740, 688), (540, 688)], road)
    for x in (*range(-20, 440, 110), *range(860, 1280, 110)):
        scene.box(x, 650, x + 60, 655, paint)
    scene.poly([(637, 610), (643, 610), (641, 560), (639, 560)], paint)
    for near, far in ((900, 842), (808, 766), (744, 714)):
        wide = (near - 560) / 42
        scene.poly([(640 - wide, near), (640 + wide, near), (640 + wide * 0.8, far), (640 - wide * 0.8, far)], paint)
    scene.poly([(646, 700), (744, 700), (752, 708), (646, 708)], paint)
    _gantry(scene)
    _height_limit(scene, 150, 520)
    return scene


def _roadside_tree(scene: Canvas, x: float, y: float, size: float) -> None:
    scene.box(x - 7 * size, y - 10 * size, x + 7 * size, y + 50 * size, "#7b5a41")
    for px, py, radius in ((0, -70, 44), (-30, -36, 36), (30, -34, 38), (0, -30, 40)):
        scene.disc(x + px * size, y + py * size, radius * size, "#5c8f5a")
    scene.disc(x - 12 * size, y - 70 * size, 22 * size, "#72a56c")


def _gantry(scene: Canvas) -> None:
    for x in (262, 1018):
        scene.box(x - 9, 118, x + 9, 720, "#8a939b")
        scene.box(x - 9, 118, x - 3, 720, "#a9b1b7")
        scene.box(x - 20, 712, x + 20, 728, "#6e767d", radius=4)
    scene.box(250, 118, 1030, 136, "#8a939b")
    scene.shadow([(292, 116), (1000, 116), (1000, 404), (292, 404)], 8, 0.3)
    scene.box(284, 100, 996, 392, BLUE, radius=18)
    scene.box(291, 107, 989, 385, edge=WHITE, width=4, radius=13)
    for x in (508, 772):
        scene.line([(x, 112), (x, 380)], WHITE, 3, round_ends=False)
    scene.arrow([(450, 172), (346, 172)], WHITE, 14, 44)
    scene.arrow([(640, 218), (640, 128)], WHITE, 14, 44)
    scene.arrow([(830, 172), (934, 172)], WHITE, 14, 44)
    panels = (
        (310, 488, (("Ferry", 4),)),
        (528, 752, (("Centre", 2), ("Ferry", 6))),
        (792, 970, (("Airport", 11), ("Hospital", 3))),
    )
    for left, right, rows in panels:
        for row, (name, distance) in enumerate(rows):
            scene.text(left, 268 + row * 52, name, 37, WHITE, bold=True)
            scene.text(right, 268 + row * 52, str(distance), 37, WHITE, anchor="rm", bold=True)
    scene.text(640, 362, "distances in km", 19, "#cfe0ec", anchor="mm")


def _height_limit(scene: Canvas, x: float, y: float) -> None:
    scene.box(x - 6, y, x + 6, y + 210, "#8a939b")
    scene.box(x - 62, y + 92, x + 62, y + 146, WHITE, edge=GREY, width=3, radius=8)
    scene.arrow([(x + 40, y + 119), (x - 42, y + 119)], INK, 8, 26)
    scene.disc(x, y, 78, WHITE)
    scene.disc(x, y, 75, WHITE, edge="#c8323c", width=15)
    scene.text(x, y, "2.9 m", 38, INK, anchor="mm", bold=True)
    for side in (-1, 1):
        scene.poly([(x - 13, y + side * 46), (x + 13, y + side * 46), (x, y + side * 28)], INK)


def parking() -> Canvas:
    """Three plates on one post: when may one park?"""
    scene = Canvas(1000, 1020, "#c98f72")
    _bricks(scene)
    scene.box(0, 920, 1000, 1020, "#b9b5ac")
    scene.box(0, 920, 1000, 930, "#a09c93")
    for x in range(40, 1000, 160):
        scene.line([(x, 930), (x - 30, 1020)], "#a09c93", 3)
    scene.shadow([(300, 150), (770, 150), (770, 880), (300, 880)], 22, 0.35)
    scene.box(486, 60, 514, 950, "#8b959c")
    scene.box(488, 60, 496, 950, "#b4bcc1")
    _plate(scene, 130, 240, BLUE)
    scene.text(366, 252, "P", 150, WHITE, anchor="mm", bold=True)
    scene.text(440, 208, "with disc", 38, WHITE, bold=True)
    scene.text(440, 256, "2 hours", 38, WHITE, bold=True)
    scene.text(440, 304, "Mon - Sat  8 - 19 h", 28, WHITE)
    _plate(scene, 400, 240, WHITE)
    scene.disc(368, 520, 72, "#c8323c")
    scene.disc(368, 520, 57, BLUE)
    for angle in (45, -45):
        scene.line(turned([(305, 520), (431, 520)], angle, (368, 520)), "#c8323c", 13)
    scene.text(460, 474, "Street", 38, bold=True)
    scene.text(460, 522, "cleaning", 38, bold=True)
    scene.text(460, 572, "Tue + Fri  7 - 10 h", 28)
    _plate(scene, 670, 190, WHITE)
    scene.text(500, 738, "Residents with permit B", 35, anchor="mm", bold=True)
    scene.text(500, 794, "no time limit, no disc needed", 28, GREY, anchor="mm")
    return scene


def _plate(scene: Canvas, y: float, tall: float, fill: str) -> None:
    scene.box(262, y, 738, y + tall, fill, radius=20)
    scene.box(270, y + 8, 730, y + tall - 8, edge=WHITE if fill == BLUE else GREY, width=4, radius=14)
    for side in (y + 22, y + tall - 22):
        scene.disc(500, side, 5, "#9aa3aa")


def _bricks(scene: Canvas) -> None:
    dice = random.Random(7)
    scene.box(0, 0, 1000, 1020, "#dcc6b4")
    for row in range(0, 920, 44):
        for x in range(-120 + (row // 44 % 2) * 56, 1000, 112):
            scene.box(x, row, x + 106, row + 38, dice.choice(("#c4836a", "#bd7a60", "#c98d73", "#b97360")), radius=4)


def bus_stop() -> Canvas:
    """A station clock beside the timetable of one bus."""
    wall = Canvas(1300, 860, "#e9e3d6")
    wall.fade(0, 0, 1300, 860, "#efe9dc", "#ddd4c3")
    wall.box(0, 800, 1300, 860, "#a79c8a")
    _clock(wall, 300, 390, 220)
    wall.shadow([(596, 86), (1236, 86), (1236, 766), (596, 766)], 12, 0.35)
    wall.box(590, 74, 1230, 754, "#2c4a63", radius=14)
    wall.box(612, 176, 1208, 732, WHITE, radius=8)
    wall.box(616, 94, 710, 158, YELLOW, radius=10)
    wall.text(663, 127, "12", 46, anchor="mm", bold=True)
    wall.text(734, 127, "Station - Mill Lane", 38, WHITE, bold=True)
    for place, stop in enumerate(("Station", "Market Square", "Mill Lane")):
        wall.text(706 + place * 200, 214, stop, 26, anchor="mm", bold=True)
    for row, times in enumerate(TIMETABLE):
        y = 274 + row * 62
        if row % 2 == 0:
            wall.box(612, y - 31, 1208, y + 31, "#eef2f5")
        for place, time in enumerate(times):
            wall.text(680 + place * 200, y, time.rstrip("*"), 30, anchor="lm")
            if time.endswith("*"):
                wall.text(764 + place * 200, y + 2, "*", 36, RED, bold=True)
    wall.line([(632, 632), (1188, 632)], LIGHT, 2)
    wall.text(640, 664, "Monday to Saturday", 25, bold=True)
    wall.text(640, 702, "* Monday to Friday only", 25, RED)
    return wall


def _clock(wall: Canvas, x: float, y: float, radius: float) -> None:
    wall.shadow(arc_points(x + 14, y + 22, radius * 1.05, 0, 360), 14, 0.4)
    wall.disc(x, y, radius * 1.07, "#39434b")
    wall.disc(x, y, radius, "#fdfdfb")
    for tick in range(60):
        big = tick % 5 == 0
        inner = radius * (0.8 if big else 0.9)
        mark = turned([(x, y - inner), (x, y - radius * 0.95)], tick * 6, (x, y))
        wall.line(mark, INK, 9 if big else 3, round_ends=False)
    hour, minute = TIME
    for angle, reach, width in ((hour % 12 * 30 + minute / 2, 0.52, 17), (minute * 6, 0.8, 11)):
        wall.line(turned([(x, y + radius * 0.16), (x, y - radius * reach)], angle, (x, y)), INK, width)
    wall.disc(x, y, 14, RED)
    wall.text(x, y + radius * 0.42, "STATION", 22, GREY, anchor="mm")
