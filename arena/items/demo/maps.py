"""Maps: tomorrow's weather over an invented country, and a city's three train lines."""

from arena.items.demo.kit import BLUE, GREEN, GREY, INK, RED, WHITE, Canvas, Point, moved, smooth, turned
from arena.items.demo.signs import cloud

KM = 1.6
"""Pixels to a kilometre on the weather map."""
FRONT_SPEED = 30
FRONT = ((452, 120), (432, 250), (405, 380), (398, 510), (418, 640), (462, 770))
TOWNS = {
    "Port Maru": (225, 470, "storm", 9),
    "Arlen": (700, 282, "snow", -1),
    "Quill": (640, 450, "cloud", 13),
    "Sella": (926, 520, "sun", 19),
    "Dunmore": (740, 706, "fair", 16),
}
_COAST = (
    (130, 330),
    (220, 250),
    (330, 200),
    (470, 110),
    (640, 92),
    (800, 130),
    (890, 210),
    (960, 300),
    (1050, 390),
    (1060, 520),
    (990, 640),
    (880, 700),
    (830, 800),
    (690, 836),
    (560, 800),
    (430, 810),
    (330, 720),
    (220, 660),
    (170, 560),
    (96, 450),
)
_PEAKS = ((560, 186, 0.9), (660, 142, 0.9), (606, 168, 1.2), (740, 144, 1.0), (806, 182, 1.1), (856, 244, 0.8))
_LINES: dict[str, tuple[str, tuple[Point, ...]]] = {
    "Red": (RED, ((470, 130), (470, 470), (620, 620), (1090, 620))),
    "Green": (GREEN, ((680, 130), (680, 780))),
    "Blue": (BLUE, ((110, 290), (1100, 290))),
}
_STOPS = (
    ("Garden Hill", 110, 290, 0),
    ("Mill Street", 290, 290, 0),
    ("Castle", 470, 290, 0),
    ("Market", 680, 290, 0),
    ("Airport Road", 890, 290, 0),
    ("Airport", 1100, 290, 0),
    ("North Gate", 470, 130, 1),
    ("Old Bridge", 470, 440, 1),
    ("Theatre", 680, 130, 1),
    ("Library", 680, 450, 1),
    ("Harbour", 680, 620, 2),
    ("Docks", 680, 780, 1),
    ("University", 890, 620, 0),
    ("Stadium", 1090, 620, 0),
)


def weather() -> Canvas:
    """Tomorrow's weather, with a cold front and its speed."""
    sea = Canvas(1180, 900, "#bcd9e6")
    sea.fade(0, 0, 1180, 900, "#c9e2ec", "#a9cddd")
    coast = smooth(_COAST, closed=True)
    sea.poly([(x + 5, y + 9) for x, y in coast], "#8fb7c9")
    sea.poly(coast, "#e7ecd2", edge="#a8b78c", width=3)
    for x, y, size in _PEAKS:
        sea.poly(moved([(-40, 30), (0, -36), (40, 30)], x, y, size), "#b9b79f")
        sea.poly(moved([(-16, -8), (0, -36), (16, -8), (6, -12), (-4, -6)], x, y, size), WHITE)
    _front(sea)
    for name, (x, y, kind, degrees) in TOWNS.items():
        sea.disc(x, y, 8, INK, edge=WHITE, width=3)
        sea.text(x, y + 28, name, 24, anchor="mm", bold=True)
        sea.box(x - 84, y - 98, x + 84, y - 18, "#ffffffe6", radius=14)
        _icon(sea, x - 34, y - 58, kind)
        sea.text(x + 70, y - 57, f"{degrees}°", 36, BLUE if degrees < 10 else "#b5541c", anchor="rm", bold=True)
    sea.text(40, 52, "Tomorrow at midday", 38, bold=True)
    sea.text(1050, 760, "H", 74, "#b5541c", anchor="mm", bold=True)
    sea.text(82, 690, "L", 74, BLUE, anchor="mm", bold=True)
    sea.line([(940, 856), (940 + 100 * KM, 856)], INK, 4)
    for x in (940, 940 + 100 * KM):
        sea.line([(x, 846), (x, 866)], INK, 4)
    sea.text(940 + 50 * KM, 832, "100 km", 22, anchor="mm")
    return sea


def _front(sea: Canvas) -> None:
    path = smooth(FRONT)
    sea.line(path, "#1f5fae", 6)
    for at in range(5, len(path) - 3, 9):
        (x, y), (px, py) = path[at], path[at + 3]
        sea.poly([(x, y), (px, py), ((x + px) / 2 + 22, (y + py) / 2)], "#1f5fae")
    sea.arrow([(450, 556), (540, 556)], "#1f5fae", 7, 26)
    sea.text(450, 590, "cold front", 22, "#1f5fae", bold=True)
    sea.text(450, 618, f"{FRONT_SPEED} km/h", 22, "#1f5fae", bold=True)


def _icon(sea: Canvas, x: float, y: float, kind: str) -> None:
    if kind in ("sun", "fair"):
        _sun(sea, x, y - (8 if kind == "fair" else 0))
    if kind == "fair":
        cloud(sea, x + 6, y + 10, 0.4, "#a9b6c0")
    elif kind != "sun":
        cloud(sea, x, y - (0 if kind == "cloud" else 10), 0.52, "#66737f" if kind == "storm" else "#8b99a5")
    if kind == "snow":
        _flakes(sea, x, y)
    if kind == "storm":
        sea.poly(moved([(4, 2), (-12, 20), (-2, 20), (-8, 36), (12, 14), (2, 14), (10, 2)], x, y), "#eba937")
        for px in (-24, 22):
            sea.line([(x + px, y + 12), (x + px - 6, y + 28)], "#4b8fc4", 4)


def _flakes(sea: Canvas, x: float, y: float) -> None:
    for px, py in ((-18, 16), (0, 24), (18, 16)):
        for turn in (0, 60, 120):
            sea.line(turned([(x + px - 7, y + py), (x + px + 7, y + py)], turn, (x + px, y + py)), "#4b8fc4", 2.5)


def _sun(sea: Canvas, x: float, y: float) -> None:
    for turn in range(0, 360, 45):
        sea.line(turned([(x, y - 22), (x, y - 29)], turn, (x, y)), "#eba937", 4)
    sea.disc(x, y, 17, "#f3bb3f")


def trains() -> Canvas:
    """Three train lines; the obvious place to change is closed."""
    plan = Canvas(1240, 880, "#fbfaf6")
    plan.poly(
        smooth(
            [
                (-40, 560),
                (160, 530),
                (340, 560),
                (520, 700),
                (760, 700),
                (960, 720),
                (1300, 690),
                (1300, 780),
                (980, 800),
                (740, 770),
                (480, 780),
                (300, 640),
                (150, 610),
                (-40, 640),
            ],
            closed=True,
        ),
        "#d6e8ef",
    )
    plan.text(150, 578, "River Ane", 24, "#7ba6b8", anchor="mm")
    for colour, path in _LINES.values():
        plan.line(path, colour, 14)
    for name, x, y, side in _STOPS:
        _stop(plan, name, x, y, side)
    for turn in (45, -45):
        plan.line(turned([(470 - 21, 290), (470 + 21, 290)], turn, (470, 290)), "#b3202c", 8)
    for place, (name, (colour, _)) in enumerate(_LINES.items()):
        plan.box(880, 68 + place * 52, 1000, 108 + place * 52, colour, radius=8)
        plan.text(940, 88 + place * 52, name, 24, WHITE, anchor="mm", bold=True)
        plan.text(1018, 88 + place * 52, "every 10 min", 22, GREY)
    plan.text(60, 84, "City trains", 42, bold=True)
    plan.box(50, 664, 560, 830, "#fff4d8", edge="#d9a441", width=3, radius=12)
    plan.text(76, 704, "Castle is closed until 30 June", 28, "#8a3b12", bold=True)
    plan.text(76, 750, "Trains run through without stopping.", 24)
    plan.text(76, 788, "Please change at another station.", 24)
    return plan


def _stop(plan: Canvas, name: str, x: float, y: float, side: int) -> None:
    change = name in ("Castle", "Market", "Harbour")
    plan.disc(x, y, 22 if change else 15, WHITE, edge=INK, width=5 if change else 4)
    if side == 1:
        plan.text(x + 34, y, name, 25, bold=change)
    elif side == 2:
        plan.text(x + 34, y - 36, name, 25, bold=change)
    else:
        plan.text(x + (64 if change else 0), y - 42, name, 25, anchor="mm", bold=change)
