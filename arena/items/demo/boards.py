"""Boards seen from above: a chess position, four in a row, and the plan of a flat."""

import math

from arena.items.demo.kit import BLUE, GREY, INK, WHITE, Canvas, Point, arc_points, moved, smooth

CHESS = {
    "white": {"K": "g1", "R": "e1", "B": "d3", "P": "a3 f2 g2 h2"},
    "black": {"K": "g8", "R": "c2", "N": "b4", "P": "a7 f7 g7 h7"},
}
"""White to move; the rook on e1 mates on e8, while captures on b4 and c2 tempt."""

COLUMNS = ("R", "YR", "RYR", "RRY", "YRR", "YY", "Y")
"""Four in a row, column by column, each from the bottom up; yellow to move wins in the fifth column."""

_BASE = [(-30, 40), (30, 40), (30, 31), (22, 27), (-22, 27), (-30, 31)]
_BODIES: dict[str, list[Point]] = {
    "P": [(-22, 28), (-13, 12), (-8, -8), (8, -8), (13, 12), (22, 28)],
    "R": [
        (-23, 28),
        (-17, 14),
        (-16, -14),
        (-24, -20),
        (-24, -38),
        (-13, -38),
        (-13, -30),
        (-5, -30),
        (-5, -38),
        (5, -38),
        (5, -30),
        (13, -30),
        (13, -38),
        (24, -38),
        (24, -20),
        (16, -14),
        (17, 14),
        (23, 28),
    ],
    "B": [(-22, 28), (-11, 10), (-17, -6), (-14, -22), (0, -38), (14, -22), (17, -6), (11, 10), (22, 28)],
    "N": [
        (-22, 28),
        (-18, 10),
        (-2, -6),
        (-6, -8),
        (-16, 2),
        (-25, 2),
        (-28, -6),
        (-18, -24),
        (-10, -32),
        (-9, -42),
        (0, -34),
        (14, -26),
        (22, -8),
        (24, 12),
        (23, 28),
    ],
    "K": [(-23, 28), (-15, 12), (-24, -10), (-12, -20), (0, -15), (12, -20), (24, -10), (15, 12), (23, 28)],
}


def chess() -> Canvas:
    """White to move and mate in one."""
    board = Canvas(1000, 1000, "#4a3a31")
    cell, left, top = 108, 84, 56
    board.box(left - 8, top - 8, left + 8 * cell + 8, top + 8 * cell + 8, "#2f241e", radius=6)
    for place in range(8):
        board.text(left - 36, top + place * cell + cell / 2, str(8 - place), 30, "#e6d3b8", anchor="mm")
        board.text(left + place * cell + cell / 2, top + 8 * cell + 38, "abcdefgh"[place], 30, "#e6d3b8", anchor="mm")
        for row in range(8):
            fill = "#f0dcb9" if (place + row) % 2 == 0 else "#b98a5e"
            board.box(left + place * cell, top + row * cell, left + (place + 1) * cell, top + (row + 1) * cell, fill)
    for side, pieces in CHESS.items():
        for piece, squares in pieces.items():
            for square in squares.split():
                x = left + ("abcdefgh".index(square[0]) + 0.5) * cell
                y = top + (8 - int(square[1]) + 0.5) * cell
                _piece(board, piece, x, y, side == "white")
    return board


def _piece(board: Canvas, piece: str, x: float, y: float, white: bool) -> None:
    fill, edge = ("#fffdf6", "#2a221d") if white else ("#33302f", "#100d0c")
    size, y = 1.16, y + 2
    board.disc(x, y + 46, 40, "#00000038", squash=0.28)
    if piece == "K":
        for stroke, width in ((edge, 12), (fill, 5)):
            board.line([(x, y - 18), (x, y - 48)], stroke, width)
            board.line([(x - 10, y - 37), (x + 10, y - 37)], stroke, width)
    body = _BODIES[piece]
    outline = smooth(body, steps=6) if piece in "BN" else body
    board.poly(moved(outline, x, y, size), fill, edge=edge, width=3.5)
    if piece == "P":
        board.disc(x, y - 23, 20, fill, edge=edge, width=3.5)
    if piece == "B":
        board.disc(x, y - 47, 6, fill, edge=edge, width=3)
        board.line([(x + 2, y - 26), (x + 9, y - 14)], edge if white else GREY, 3.5)
    if piece == "N":
        board.disc(x - 10, y - 24, 4, edge if white else "#e8e4df")
    board.poly(moved(_BASE, x, y, size), fill, edge=edge, width=3.5)


def four() -> Canvas:
    """Four in a row: yellow to move, with a win and a threat to parry."""
    board = Canvas(1120, 1010, "#eaf1f5")
    board.box(0, 900, 1120, 1010, "#d7c2a3")
    board.shadow([(90, 905), (1030, 905), (1060, 960), (60, 960)], 14, 0.35)
    board.box(84, 122, 1036, 930, "#255a94", radius=30)
    board.box(94, 132, 1026, 920, "#2f6fb4", radius=24)
    for column, stack in enumerate(COLUMNS):
        x = 168 + column * 131
        board.text(x, 84, str(column + 1), 36, INK, anchor="mm", bold=True)
        for row in range(6):
            y = 860 - row * 130
            board.disc(x, y, 55, "#23588f")
            _counter(board, x, y, stack[row] if row < len(stack) else "")
    return board


def _counter(board: Canvas, x: float, y: float, colour: str) -> None:
    if not colour:
        board.disc(x, y + 2, 50, "#eaf1f5")
        return
    rim, face = ("#c23b43", "#df5a5e") if colour == "R" else ("#e0a526", "#f6c945")
    board.disc(x, y + 2, 50, rim)
    board.disc(x, y + 2, 39, face)
    board.disc(x, y + 2, 25, rim)
    board.disc(x, y + 3, 22, face)


def flat() -> Canvas:
    """A two-bedroom flat whose only bathroom lies behind the larger bedroom; 100 pixels are a metre."""
    plan = Canvas(1300, 1010, "#fcfbf7")
    plan.text(90, 58, "Flat 3B, second floor", 34, bold=True)
    plan.text(1210, 62, "90 square metres", 24, GREY, anchor="rm")
    for x0, y0, x1, y1, fill in (
        (90, 110, 690, 560, "#f3ead8"),
        (690, 110, 1210, 560, "#e6eef4"),
        (90, 560, 470, 910, "#e6eef4"),
        (470, 560, 850, 910, "#f4f1ea"),
        (850, 560, 1210, 910, "#dcecee"),
    ):
        plan.box(x0, y0, x1, y1, fill)
    for x in range(690, 1210, 36):
        plan.line([(x, 114), (x, 556)], "#d9e4ec", 1)
    _walls(plan)
    _openings(plan)
    _furniture(plan)
    for x, y, name, size in (
        (350, 330, "Living room, kitchen", "6.0 x 4.5 m"),
        (1004, 462, "Bedroom 1", "5.2 x 4.5 m"),
        (276, 640, "Bedroom 2", "3.8 x 3.5 m"),
        (652, 760, "Hall", "3.8 x 3.5 m"),
        (1046, 700, "Bathroom", "3.6 x 3.5 m"),
    ):
        plan.text(x, y, name, 26, anchor="mm", bold=True)
        plan.text(x, y + 34, size, 22, GREY, anchor="mm")
    plan.arrow([(660, 996), (660, 932)], "#a5432f", 5, 20)
    plan.text(684, 972, "Front door", 24, "#a5432f", bold=True)
    plan.line([(90, 966), (190, 966)], INK, 3)
    for x in (90, 190):
        plan.line([(x, 958), (x, 974)], INK, 3)
    plan.text(206, 966, "1 m", 22)
    return plan


def _walls(plan: Canvas) -> None:
    plan.box(82, 102, 1218, 918, edge=INK, width=16)
    inner = (((690, 110), (690, 560)), ((90, 560), (1210, 560)), ((470, 560), (470, 910)), ((850, 560), (850, 910)))
    for start, end in inner:
        plan.line([start, end], INK, 9)


def _openings(plan: Canvas) -> None:
    for x0, y0, x1, y1 in ((190, 100, 350, 120), (440, 100, 600, 120), (840, 100, 1060, 120), (1200, 660, 1220, 780)):
        plan.box(x0, y0, x1, y1, WHITE, edge=BLUE, width=3)
        across = x1 - x0 > y1 - y0
        plan.line([(x0, 110), (x1, 110)] if across else [(1210, y0), (1210, y1)], BLUE, 2)
    for hinge, shut, ajar in (
        ((704, 910), (612, 910), (704, 818)),
        ((560, 560), (640, 560), (560, 640)),
        ((690, 540), (690, 460), (770, 540)),
        ((940, 560), (860, 560), (940, 640)),
        ((410, 560), (330, 560), (410, 640)),
    ):
        _door(plan, hinge, shut, ajar)


def _door(plan: Canvas, hinge: Point, shut: Point, ajar: Point) -> None:
    outer = hinge[1] == 910
    plan.line([hinge, shut], "#fcfbf7", 18 if outer else 11, round_ends=False)
    start, end = (math.degrees(math.atan2(y - hinge[1], x - hinge[0])) for x, y in (shut, ajar))
    if abs(end - start) > 180:
        end += 360 if end < start else -360
    plan.line(arc_points(*hinge, math.dist(hinge, shut), start, end), GREY, 2)
    plan.line([hinge, ajar], INK, 5)


def _furniture(plan: Canvas) -> None:
    wood, cloth, steel = "#d8c19a", "#b9c9d6", "#e3e8ea"
    for x0, y0, x1, y1 in ((1000, 180, 1202, 350), (98, 732, 262, 902)):
        plan.box(x0, y0, x1, y1, WHITE, edge=GREY, width=2.5, radius=8)
    plan.box(1000, 180, 1130, 350, cloth, edge=GREY, width=2.5, radius=8)
    for y in (192, 272):
        plan.box(1146, y, 1192, y + 66, WHITE, edge=GREY, width=2, radius=10)
    plan.box(98, 732, 262, 836, cloth, edge=GREY, width=2.5, radius=8)
    plan.box(140, 848, 220, 892, WHITE, edge=GREY, width=2, radius=10)
    plan.box(98, 118, 150, 470, steel, edge=GREY, width=2.5)
    plan.box(104, 300, 144, 360, WHITE, edge=GREY, width=2, radius=8)
    for x, y in ((114, 160), (134, 160), (114, 190), (134, 190)):
        plan.disc(x, y, 8, edge=GREY, width=2)
    plan.box(500, 420, 640, 486, cloth, edge=GREY, width=2.5, radius=14)
    plan.box(500, 466, 640, 492, "#a3b6c6", edge=GREY, width=2.5, radius=10)
    plan.disc(330, 210, 52, wood, edge=GREY, width=2.5)
    for x, y in ((330, 136), (330, 284), (256, 210), (404, 210)):
        plan.box(x - 20, y - 14, x + 20, y + 14, wood, edge=GREY, width=2, radius=7)
    plan.box(870, 812, 1090, 902, WHITE, edge=GREY, width=2.5, radius=10)
    plan.box(882, 822, 1078, 892, "#d7ebf2", edge=GREY, width=2, radius=30)
    plan.box(1150, 848, 1202, 902, WHITE, edge=GREY, width=2.5, radius=6)
    plan.disc(1170, 822, 26, WHITE, edge=GREY, width=2.5, squash=1.2)
    plan.box(1110, 568, 1190, 612, WHITE, edge=GREY, width=2.5, radius=6)
    plan.disc(1150, 588, 24, "#d7ebf2", edge=GREY, width=2, squash=0.6)
