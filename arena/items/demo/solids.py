"""Plain solids on a table, seen twice from slightly different places: has anything moved besides the camera?"""

import math
from dataclasses import dataclass

from arena.items.demo.kit import Canvas, Point, arc_points

BEFORE = {
    "cube": (-1.3, 0.9),
    "cylinder": (1.25, 1.1),
    "cone": (0.1, 2.2),
    "ball": (0.45, -0.35),
    "pearl": (-0.95, -0.75),
}
AFTER = BEFORE | {"pearl": (1.75, -0.45)}
"""Where each solid stands on the table: right, away. The pearl is the small red ball, the only thing that moves."""


@dataclass(frozen=True)
class Camera:
    """Where the picture is taken from: turned about the table's middle, and moved to the side."""

    turn: float = 0
    side: float = 0
    width: int = 1180
    height: int = 720

    def see(self, x: float, away: float, up: float = 0) -> tuple[float, float, float]:
        """A place on the table in the picture, and how many pixels one unit measures there."""
        sin, cos = math.sin(math.radians(self.turn)), math.cos(math.radians(self.turn))
        x, away = x * cos - away * sin, x * sin + away * cos
        unit = 1180 / (away + 6.4)
        return self.width / 2 + (x - self.side) * unit, 60 + (2.9 - up) * unit, unit


def solids(camera: Camera, places: dict[str, Point]) -> Canvas:
    """Five solids on a table, the farthest drawn first."""
    scene = Canvas(camera.width, camera.height, "#d9d4cc")
    scene.fade(0, 0, camera.width, 280, "#c3ccd2", "#e9e7e2")
    scene.fade(0, 280, camera.width, camera.height, "#d8cfc2", "#bfb19f")
    draw = {"cube": _cube, "cylinder": _cylinder, "cone": _cone, "ball": _ball, "pearl": _pearl}
    for name in sorted(places, key=lambda name: -1 / camera.see(*places[name])[2]):
        draw[name](scene, camera, places[name])
    return scene


def _mixed(first: str, last: str, share: float) -> str:
    pairs = ((int(first[i : i + 2], 16), int(last[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def _sphere(scene: Canvas, camera: Camera, place: Point, radius: float, tones: tuple[str, str, str]) -> None:
    x, y, unit = camera.see(*place, radius)
    size = radius * unit
    ground = camera.see(*place)
    scene.shadow(arc_points(ground[0] + size * 0.35, ground[1] + size * 0.05, size * 1.0, 0, 360, 0.34), 9, 0.42)
    dark, middle, light = tones
    for step in range(40):
        share = step / 39
        tone = _mixed(dark, middle, share * 2) if share < 0.5 else _mixed(middle, light, share * 2 - 1)
        scene.disc(x - size * 0.34 * share, y - size * 0.38 * share, size * (1 - share * 0.93), tone)


def _ball(scene: Canvas, camera: Camera, place: Point) -> None:
    _sphere(scene, camera, place, 0.52, ("#1f4468", "#3c7fb8", "#cfe6f6"))


def _pearl(scene: Canvas, camera: Camera, place: Point) -> None:
    _sphere(scene, camera, place, 0.27, ("#7d1c2a", "#cf4455", "#fbd7d9"))


def _cylinder(scene: Canvas, camera: Camera, place: Point) -> None:
    x, low, unit = camera.see(*place)
    _, high, _ = camera.see(*place, 1.5)
    wide, squash = 0.55 * unit, 0.3
    scene.shadow(arc_points(x + wide * 0.5, low, wide * 1.15, 0, 360, 0.34), 10, 0.42)
    for step in range(60):
        left, right = (x - wide * math.cos(math.pi * (step + k) / 60) for k in (0, 1.15))
        share = 1 - abs(step / 60 - 0.32) * 1.35
        curve = math.sqrt(max(0, 1 - ((left + right) / 2 - x) ** 2 / wide**2)) * wide * squash
        strip = [(left, high), (right, high), (right, low + curve), (left, low + curve)]
        scene.poly(strip, _mixed("#2c6b4a", "#8fd0a6", share))
    scene.disc(x, high, wide, "#9fd9b3", squash=squash)
    scene.disc(x, high, wide, edge="#b9e6c8", width=1.5, squash=squash)


def _cone(scene: Canvas, camera: Camera, place: Point) -> None:
    x, low, unit = camera.see(*place)
    tip = (x, camera.see(*place, 1.7)[1])
    wide = 0.68 * unit
    scene.shadow(arc_points(x + wide * 0.45, low, wide * 1.1, 0, 360, 0.34), 9, 0.4)
    for step in range(60):
        turns = [math.pi * (step + k) / 60 for k in (0, 1.2)]
        ends = [(x - wide * math.cos(turn), low + wide * 0.28 * math.sin(turn)) for turn in turns]
        scene.poly([tip, *ends], _mixed("#b87a1e", "#ffe08a", 1 - abs(step / 60 - 0.34) * 1.3))


def _cube(scene: Canvas, camera: Camera, place: Point) -> None:
    half, tall = 0.62, 1.24
    reach = half * math.sqrt(2)
    turns = [math.radians(turn) for turn in (245, 335, 65, 155)]
    corners = [(place[0] + reach * math.cos(turn), place[1] + reach * math.sin(turn)) for turn in turns]
    low = [camera.see(*corner)[:2] for corner in corners]
    high = [camera.see(*corner, tall)[:2] for corner in corners]
    scene.shadow([(px + 34, py + 6) for px, py in low], 12, 0.45)
    for first, second, tone in ((3, 0, "#a99ac4"), (0, 1, "#7a68a3")):
        scene.poly([low[first], low[second], high[second], high[first]], tone)
    scene.poly(high, "#cdc3e0")
