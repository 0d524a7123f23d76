"""Charts with a catch: an axis that does not start at nought, and slices that add up to too much."""

import math

from arena.items.demo.kit import BLUE, GREEN, GREY, INK, LIGHT, RED, WHITE, YELLOW, Canvas, arc_points

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
VISITORS = {
    "Science": (74, 73, 71, 70, 67, 62, 60, 58, 61, 67, 72, 75),
    "Maritime": (52, 53, 55, 58, 61, 65, 68, 70, 66, 63, 61, 62),
    "Textile": (44, 44, 45, 46, 47, 49, 51, 50, 49, 51, 53, 56),
}
AXIS = (40, 80)
LINE_COLOURS = {"Science": BLUE, "Maritime": RED, "Textile": "#8a6bb8"}

BUDGET = {"Rent": 34, "Food": 22, "Transport": 16, "Energy": 13, "Leisure": 12, "Savings": 11}
SLICE_COLOURS = (BLUE, RED, YELLOW, GREEN, "#8a6bb8", "#6fb3c8")


def museums() -> Canvas:
    """Visitors to three museums by month, on an axis that starts at 40."""
    board = Canvas(1240, 820, "#fdfcf9")
    board.text(70, 62, "Museum visitors, month by month", 38, bold=True)
    board.text(70, 108, "Thousands of visitors, three city museums, last year", 22, GREY)
    left, right, top, bottom = 110, 1060, 170, 730
    step = (right - left) / (len(MONTHS) - 1)

    def height(value: float) -> float:
        return bottom - (value - AXIS[0]) / (AXIS[1] - AXIS[0]) * (bottom - top)

    for value in range(AXIS[0], AXIS[1] + 1, 5):
        strong = value % 10 == 0
        board.line([(left - 14, height(value)), (right + 14, height(value))], LIGHT if strong else "#eceff1", 1.5)
        if strong:
            board.text(left - 30, height(value), str(value), 21, GREY, anchor="rm")
    for place, month in enumerate(MONTHS):
        board.text(left + place * step, bottom + 34, month, 21, GREY, anchor="mm")
    for name, values in VISITORS.items():
        points = [(left + place * step, height(value)) for place, value in enumerate(values)]
        board.line(points, LINE_COLOURS[name], 5)
        for x, y in points:
            board.disc(x, y, 8, WHITE, edge=LINE_COLOURS[name], width=4)
        board.text(right + 28, points[-1][1], name, 26, LINE_COLOURS[name], bold=True)
    return board


def budget() -> Canvas:
    """A household's month as a pie whose slices add up to 108 per cent."""
    board = Canvas(1160, 780, "#fdfcf9")
    board.text(64, 66, "More than half of our money goes on rent", 37, bold=True)
    board.text(64, 112, "Where one household's monthly income went, in per cent", 22, GREY)
    x, y, radius = 390, 450, 280
    board.shadow(arc_points(x, y + 14, radius, 0, 360), 12, 0.2)
    total, angle = sum(BUDGET.values()), -90.0
    for share, colour in zip(BUDGET.values(), SLICE_COLOURS, strict=True):
        end = angle + 360 * share / total
        board.pie(x, y, radius, angle, end, colour)
        angle = end
    for share in BUDGET.values():
        end = angle + 360 * share / total
        cut, middle = math.radians(angle), math.radians((angle + end) / 2)
        board.line([(x, y), (x + radius * math.cos(cut), y + radius * math.sin(cut))], "#fdfcf9", 4)
        board.text(
            x + radius * 0.66 * math.cos(middle),
            y + radius * 0.66 * math.sin(middle),
            f"{share} %",
            30,
            WHITE,
            anchor="mm",
            bold=True,
        )
        angle = end
    for row, (name, colour) in enumerate(zip(BUDGET, SLICE_COLOURS, strict=True)):
        board.box(790, 250 + row * 68, 826, 286 + row * 68, colour, radius=7)
        board.text(850, 268 + row * 68, name, 28, INK)
    return board
