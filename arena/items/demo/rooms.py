"""Scenes indoors: a cat's evening in four pictures, a living room before and after, mugs on two shelves."""

from dataclasses import dataclass

from arena.items.demo.kit import INK, WHITE, Canvas, arc_points, moved, smooth, turned


@dataclass(frozen=True)
class Evening:
    """What differs among the four pictures of the cat."""

    cat_left: bool = True
    lamp: bool = False
    moon_right: bool = True


EVENINGS = (Evening(lamp=True), Evening(moon_right=False), Evening(cat_left=False), Evening())
"""The last one is the picture looked for: cat on the left, lamp off, moon in the right-hand pane."""

MUGS = (
    (("blue", "plain"), ("red", "striped"), ("blue", "dotted"), ("yellow", "plain"), ("blue", "striped")),
    (
        ("green", "striped"),
        ("blue", "striped"),
        ("blue", "plain"),
        ("red", "dotted"),
        ("blue", "plain"),
        ("yellow", "striped"),
    ),
)
_GLAZES = {"blue": "#3f7fb5", "red": "#cf4f55", "yellow": "#ecb640", "green": "#57a06c"}


def sofa(view: Evening) -> Canvas:
    """A cat on a sofa under a window at night."""
    room = Canvas(960, 720, "#5a6f8c")
    wall = ("#b98f6a", "#8c6c58") if view.lamp else ("#52657f", "#3f5069")
    room.fade(0, 0, 960, 560, *wall)
    room.fade(0, 560, 960, 720, *(("#8a6244", "#6b4a34") if view.lamp else ("#40434f", "#33353f")))
    _night(room, view.moon_right)
    if view.lamp:
        room.glow(800, 262, 330, "#ffdf9a", 0.75)
    _lamp(room, view.lamp)
    cloth = ("#4d8a80", "#3f766d", "#5d9c91") if view.lamp else ("#3c6670", "#31565f", "#497782")
    room.disc(400, 640, 330, "#00000040", squash=0.08)
    room.box(120, 400, 680, 570, cloth[1], radius=34)
    for left in (150, 402):
        room.box(left, 396, left + 248, 540, cloth[2], radius=26)
        room.box(left, 500, left + 248, 584, cloth[0], radius=22)
    for left in (84, 646):
        room.box(left, 446, left + 72, 622, cloth[1], radius=30)
    room.box(130, 570, 672, 622, cloth[1], radius=14)
    for x in (150, 640):
        room.box(x, 618, x + 20, 646, "#3a2b22")
    _cat(room, 270 if view.cat_left else 530, 486, view.lamp)
    return room


def _night(room: Canvas, moon_right: bool) -> None:
    room.box(212, 64, 588, 344, "#efe6d8", radius=6)
    for left in (228, 410):
        room.fade(left, 80, left + 162, 328, "#13233f", "#34507a")
        for px, py in ((22, 40), (70, 96), (118, 150), (40, 190), (96, 222)):
            room.disc(left + px, 80 + py, 2, "#dfe8f7")
    x = 498 if moon_right else 316
    room.glow(x, 154, 76, "#f7efcf", 0.6)
    room.disc(x, 154, 36, "#f9f1d0")
    for px, py, radius in ((-10, -8, 7), (12, 8, 9), (4, -18, 4)):
        room.disc(x + px, 154 + py, radius, "#e6dcb4")
    room.box(196, 340, 604, 360, "#efe6d8", radius=4)


def _lamp(room: Canvas, lit: bool) -> None:
    room.box(795, 270, 805, 640, "#3a2f2a")
    room.disc(800, 642, 56, "#3a2f2a", squash=0.2)
    room.poly([(752, 200), (848, 200), (882, 306), (718, 306)], "#ffe7b0" if lit else "#8f8a84")
    room.poly([(718, 306), (882, 306), (880, 296), (721, 296)], "#f3c877" if lit else "#7a756f")


def _cat(room: Canvas, x: float, y: float, lit: bool) -> None:
    fur, dark = ("#e79a4e", "#c97c36") if lit else ("#d08a4b", "#b27038")
    room.disc(x, y + 22, 96, "#00000030", squash=0.14)
    back = [(-92, 20), (-84, -24), (-30, -56), (40, -52), (88, -18), (94, 20)]
    room.poly(moved(smooth(back), x, y), fur)
    for px in (-40, -14, 12):
        room.line(smooth([(x + px, y - 54), (x + px + 6, y - 36), (x + px + 2, y - 22)]), dark, 7)
    room.line(smooth([(x - 84, y + 10), (x - 50, y + 22), (x, y + 20), (x + 36, y + 14)]), dark, 17)
    room.disc(x + 62, y - 14, 36, fur, squash=0.9)
    for ear in ([(-28, -20), (-24, -48), (-4, -30)], [(28, -20), (26, -48), (4, -30)]):
        room.poly(moved(ear, x + 62, y - 14), fur)
    for px in (-14, 14):
        room.line(arc_points(x + 62 + px, y - 18, 8, 20, 160), INK, 3)
    room.poly(moved([(-5, 0), (5, 0), (0, 6)], x + 62, y - 8), "#8a4a3a")
    for px in (-1, 1):
        for py in (0, 5):
            room.line([(x + 62 + px * 14, y - 2 + py), (x + 62 + px * 42, y - 6 + py * 2)], "#fff3e2", 1.6)


def living_room(after: bool) -> Canvas:
    """A living room before its renovation and after; window and fireplace stay."""
    room = Canvas(1240, 800, "#c9bda6")
    _floor(room, after)
    room.fade(0, 0, 1240, 560, *(("#f7f5f0", "#ecebe5") if after else ("#a39a6d", "#948a60")))
    if not after:
        _wallpaper(room)
    room.box(0, 540, 1240, 562, "#ffffff" if after else "#6b5237")
    _window(room, after)
    _fireplace(room, after)
    _couch(room, after)
    if after:
        _shelves(room)
        _plant(room, 560, 600)
        for x in (420, 500):
            room.line([(x, 0), (x, 96)], INK, 2.5)
            room.poly(smooth([(x - 34, 138), (x - 22, 104), (x, 94), (x + 22, 104), (x + 34, 138)]), "#e0a13a")
    else:
        room.line([(460, 0), (460, 116)], INK, 3)
        room.box(453, 112, 467, 132, "#4a4541", radius=3)
        room.disc(460, 146, 17, "#fff0b8")
        room.line([(960, 60), (986, 104), (974, 138), (1004, 190), (996, 226)], "#5d5637", 3.5)
        damp = [(1090, 10), (1160, -10), (1230, 20), (1236, 110), (1180, 130), (1120, 90)]
        room.poly(smooth(damp, closed=True), "#7a6f4699")
    return room


def _wallpaper(room: Canvas) -> None:
    for x in range(0, 1240, 62):
        room.box(x, 0, x + 31, 540, "#8f865a66")
    for row in range(9):
        for place in range(21):
            x, y = place * 62 + 15, 30 + row * 62 + (place % 2) * 30
            if y > 530:
                continue
            for angle in range(0, 360, 72):
                room.disc(*turned([(x, y - 9)], angle, (x, y))[0], 6, "#c9a36a")
            room.disc(x, y, 5, "#8c4f3d")


def _floor(room: Canvas, after: bool) -> None:
    if not after:
        room.fade(0, 560, 1240, 800, "#6d4b3c", "#5a3d31")
        room.grain("#7d594866", 500, 6, 30)
        room.poly(smooth([(700, 700), (780, 680), (850, 706), (800, 740), (720, 736)], closed=True), "#4a302666")
        return
    room.fade(0, 560, 1240, 800, "#d9b98b", "#c9a673")
    for y in (600, 648, 708, 776):
        room.line([(0, y), (1240, y)], "#b28f5f", 2)
    for row, y in enumerate((562, 600, 648, 708, 776)):
        for x in range(80 + (row % 3) * 110, 1240, 330):
            room.line([(x, y), (x, (600, 648, 708, 776, 800)[row])], "#b28f5f", 2)
    room.poly([(190, 646), (720, 646), (790, 764), (120, 764)], "#eef1ef")
    room.poly([(214, 660), (698, 660), (752, 750), (158, 750)], "#a9c3c9")


def _window(room: Canvas, after: bool) -> None:
    frame = WHITE if after else "#7c5a3c"
    room.box(150, 120, 400, 440, frame, edge="#d5d5d0" if after else "#5d432c", width=2)
    for left in (166, 282):
        for top in (136, 288):
            room.fade(left, top, left + 102, top + 136, "#a9d8ee", "#e3f2ee")
    room.box(138, 436, 412, 452, frame)
    if after:
        room.line([(120, 104), (430, 104)], INK, 4)
        for left in (120, 392):
            room.box(left, 106, left + 40, 530, "#f3efe4e0")
            for x in range(left + 8, left + 40, 10):
                room.line([(x, 108), (x, 528)], "#dcd6c6", 1.5)
    else:
        room.box(92, 88, 458, 112, "#5b2530")
        for left, flip in ((96, 1), (384, -1)):
            room.box(left, 106, left + 72, 540, "#7b3440")
            for x in range(left + 10, left + 70, 15):
                room.line([(x, 110), (x + 3 * flip, 536)], "#642833", 4)


def _fireplace(room: Canvas, after: bool) -> None:
    brick, joint = ("#f4f2ec", "#dedbd2") if after else ("#9b4f3c", "#7d3d2e")
    room.box(700, 300, 940, 562, brick)
    for row in range(11):
        y = 320 + row * 24
        room.line([(700, y), (940, y)], joint, 2, round_ends=False)
        for x in range(724 + (row % 2) * 24, 940, 48):
            room.line([(x, y - 22), (x, y)], joint, 2, round_ends=False)
    room.box(672, 276, 968, 306, "#c59a62" if after else "#4d3626", radius=3)
    room.box(752, 390, 888, 562, "#23201e", radius=8)
    if after:
        room.box(764, 410, 876, 556, "#3a3f42", radius=8)
        room.box(778, 428, 862, 516, "#1b1512", radius=6)
        flame = [(-15, 0), (-9, -0.5), (0, -1), (10, -0.5), (15, 0)]
        for x, tall, fill in ((800, 46, "#e5732f"), (822, 62, "#f0a13a"), (842, 42, "#e5732f")):
            room.poly(smooth([(x + px, 514 + py * tall) for px, py in flame]), fill)
        room.disc(820, 196, 62, "#dfe9ec", edge="#c59a62", width=8)
    else:
        for x in (770, 800, 836):
            room.line([(x, 548), (x + 34, 540)], "#4a3a30", 11)
        room.box(770, 150, 870, 240, "#cdb98a", edge="#4d3626", width=9)
        room.poly([(780, 232), (806, 196), (824, 216), (842, 186), (860, 232)], "#6d7a58")


def _couch(room: Canvas, after: bool) -> None:
    main, side, seat = ("#3f6f94", "#345e7f", "#4c80a8") if after else ("#8a6b47", "#755939", "#97784f")
    room.disc(400, 700, 260, "#00000030", squash=0.07)
    room.box(190, 500, 610, 650, main, radius=22)
    for left in (226, 402):
        room.box(left, 590, left + 172, 650, seat, radius=14)
    for left in (160, 576):
        room.box(left, 560, left + 62, 680, side, radius=20)
    room.box(196, 640, 604, 682, side, radius=8)
    for x in (200, 582):
        room.box(x, 680, x + 16, 704, "#3a2b22")
    if after:
        room.poly(turned([(246, 530), (318, 530), (318, 600), (246, 600)], -9, (280, 565)), "#e8b04a")
        room.poly(turned([(496, 530), (564, 530), (564, 600), (496, 600)], 8, (530, 565)), "#f1ede2")
    else:
        room.poly([(430, 596), (486, 590), (498, 622), (446, 630)], "#c9b48a")
        room.line([(262, 604), (300, 612), (330, 606)], "#5d4529", 3)


def _shelves(room: Canvas) -> None:
    room.box(990, 130, 1220, 556, "#ffffff", edge="#d9d6cd", width=3)
    spines = ("#c7524a", "#2e6f9e", "#e0a13a", "#57886a", "#7a68a3", "#44515c")
    for row in range(4):
        top = 146 + row * 102
        room.box(1002, top, 1208, top + 92, "#ece8de")
        for book in range(7 if row != 2 else 4):
            x, tall = 1010 + book * 24, 62 + (book * 7 + row * 11) % 20
            room.box(x, top + 92 - tall, x + 20, top + 92, spines[(book + row * 2) % 6], radius=2)
    room.disc(1166, 416, 22, "#d8c3a0")


def _plant(room: Canvas, x: float, y: float) -> None:
    for turn in (-58, -34, -12, 12, 34, 58):
        leaf = smooth([(0, 0), (-17, -62), (0, -150), (17, -62)], closed=True)
        room.poly(moved(turned(leaf, turn), x + 100, y - 56), "#4f8f5f" if turn % 4 else "#3f7d50")
    room.poly([(x + 66, y - 64), (x + 134, y - 64), (x + 124, y + 10), (x + 76, y + 10)], "#d8d3c8")


def mugs(row: tuple[tuple[str, str], ...]) -> Canvas:
    """A shelf of mugs."""
    shared_statistics = Canvas(1200, 560, "#f1ece2")
    shared_statistics.fade(0, 0, 1200, 560, "#f6f2ea", "#e7dfd0")
    step = 1200 / len(row)
    for place, (glaze, pattern) in enumerate(row):
        x = step * (place + 0.5)
        shared_statistics.shadow([(x - 72, 404), (x + 70, 404), (x + 80, 424), (x - 64, 424)], 8, 0.35)
        _mug(shared_statistics, x - 22, 400, _GLAZES[glaze], pattern)
    shared_statistics.box(0, 410, 1200, 452, "#b98a58")
    shared_statistics.box(0, 410, 1200, 420, "#cda06c")
    shared_statistics.box(0, 452, 1200, 462, "#00000022")
    for x in (130, 1040):
        shared_statistics.poly([(x, 452), (x + 30, 452), (x + 30, 470), (x + 14, 520), (x, 530)], "#8f6740")
    return shared_statistics


def _mug(shared_statistics: Canvas, x: float, y: float, glaze: str, pattern: str) -> None:
    shared_statistics.line(arc_points(x + 64, y - 74, 38, -80, 80), glaze, 17)
    shared_statistics.box(x - 64, y - 146, x + 64, y + 8, glaze, radius=18)
    shared_statistics.disc(x, y - 138, 64, glaze, squash=0.2)
    shared_statistics.disc(x, y - 138, 55, "#3b2a22", squash=0.17)
    if pattern == "striped":
        for top in (-108, -70, -32):
            shared_statistics.box(x - 64, y + top, x + 64, y + top + 17, WHITE)
    if pattern == "dotted":
        for line in range(3):
            for px in (-40, 0, 40) if line % 2 == 0 else (-20, 20):
                shared_statistics.disc(x + px, y - 100 + line * 38, 10, WHITE)
    shared_statistics.box(x - 52, y - 120, x - 42, y - 10, "#ffffff40", radius=5)
