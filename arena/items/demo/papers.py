"""Paper things to read closely: a till receipt, a recipe card, the back of a packet."""

import random

from arena.items.demo.kit import GREY, INK, LIGHT, PAPER, RED, WHITE, YELLOW, Canvas, moved, smooth, turned

GOODS = (
    ("Rye bread", 3.40),
    ("Eggs, box of 12", 4.20),
    ("Tomatoes 1.2 kg x 2.50", 3.00),
    ("Olive oil 0.75 l", 9.80),
    ("Yoghurt 4 x 1.15", 4.60),
    ("Coffee, ground", 7.90),
)
VOUCHER, CASH = 3.00, 50.00

SERVES = 8
RECIPE = (
    ("240 g", "plain flour"),
    ("180 g", "sugar"),
    ("4", "eggs"),
    ("160 g", "plain yoghurt"),
    ("80 ml", "sunflower oil"),
    ("2", "lemons, juice and zest"),
    ("10 g", "baking powder"),
)
METHOD = (
    "Heat the oven to 170 °C. Butter a 24 cm round tin.",
    "Whisk eggs and sugar until pale, about 5 minutes.",
    "Stir in yoghurt, oil, lemon juice and zest.",
    "Fold in flour and baking powder. Do not beat.",
    "Bake for 40 minutes. Rest 20 minutes in the tin.",
)

BAR_GRAMS, BARS = 35, 6
NUTRITION = (
    ("Energy", "1780 kJ / 425 kcal"),
    ("Fat", "16 g"),
    ("   of which saturates", "3.2 g"),
    ("Carbohydrate", "58 g"),
    ("   of which sugars", "24 g"),
    ("Fibre", "7.0 g"),
    ("Protein", "9.0 g"),
    ("Salt", "0.45 g"),
)

INGREDIENTS = (
    "Ingredients: wholegrain oats 48 %, sunflower seeds 14 %, glucose syrup, dried apple 9 %, pumpkin seeds, "
    "barley malt extract, rapeseed oil, sea salt."
)
ALLERGENS = (
    "Contains gluten (oats, barley). Made in a place that also handles almonds and hazelnuts: "
    "may contain traces of nuts."
)


def receipt() -> Canvas:
    """A receipt whose till added the voucher instead of taking it off."""
    table = Canvas(900, 1100, "#a9794f")
    table.grain("#8f623c55", 420, 3, 240)
    table.grain("#c4946655", 260, 4, 200)
    table.lay(_receipt_paper(), 450, 552, -1.6)
    return table


def _receipt_paper() -> Canvas:
    paper = Canvas(560, 980, "#fcfbf7")
    paper.text(280, 74, "THE CORNER GROCER", 34, anchor="mm", bold=True)
    paper.text(280, 116, "12 Mill Lane · open 7 to 21", 20, GREY, anchor="mm")
    paper.text(280, 146, "Sat 14 June   11:42   till 2", 20, GREY, anchor="mm")
    paper.dashes((44, 184), (516, 184), GREY, 2)
    for row, (name, price) in enumerate(GOODS):
        paper.text(48, 226 + row * 50, name, 25)
        paper.text(512, 226 + row * 50, f"{price:.2f}", 25, anchor="rm")
    paper.dashes((44, 528), (516, 528), GREY, 2)
    goods = sum(price for _, price in GOODS)
    charged = goods + VOUCHER
    paper.text(48, 570, "Subtotal", 25)
    paper.text(512, 570, f"{goods:.2f}", 25, anchor="rm")
    paper.text(48, 618, "Voucher", 25)
    paper.text(512, 618, f"-{VOUCHER:.2f}", 25, anchor="rm")
    paper.box(40, 652, 520, 722, "#ece9df")
    paper.text(52, 687, "TOTAL EUR", 33, bold=True)
    paper.text(508, 687, f"{charged:.2f}", 33, anchor="rm", bold=True)
    paper.text(48, 762, "Cash", 25)
    paper.text(512, 762, f"{CASH:.2f}", 25, anchor="rm")
    paper.text(48, 810, "Change", 25)
    paper.text(512, 810, f"{CASH - charged:.2f}", 25, anchor="rm")
    dice, x = random.Random(5), 110.0
    while x < 445:
        bar = dice.choice((2, 2, 3, 5))
        paper.box(x, 852, x + bar, 906, INK)
        x += bar + dice.choice((2, 3, 5))
    paper.text(280, 936, "Thank you, see you soon!", 21, GREY, anchor="mm")
    return paper


def recipe() -> Canvas:
    """A recipe card for eight, with a cake drawn in its corner."""
    table = Canvas(1240, 820, "#dfe7e3")
    for place in range(0, 1240, 62):
        table.box(place, 0, place + 31, 860, "#c3d3cc")
    for place in range(0, 860, 62):
        table.box(0, place, 1240, place + 31, "#b4c8bf80")
    table.lay(_recipe_card(), 620, 410, 0.9)
    return table


def _recipe_card() -> Canvas:
    card = Canvas(1120, 690, PAPER)
    card.box(0, 0, 1120, 16, "#d98b5f")
    card.text(60, 84, "Lemon yoghurt cake", 46, "#9c4a2a", bold=True)
    card.text(60, 136, f"Serves {SERVES}   ·   20 min work   ·   40 min in the oven", 22, GREY)
    card.line([(60, 172), (690, 172)], "#e2c9b4", 2)
    card.text(60, 214, "You need", 28, "#9c4a2a", bold=True)
    for row, (amount, thing) in enumerate(RECIPE):
        card.text(150, 266 + row * 44, amount, 24, anchor="rm", bold=True)
        card.text(170, 266 + row * 44, thing, 24)
    card.text(500, 214, "Method", 28, "#9c4a2a", bold=True)
    y = 266.0
    for number, step in enumerate(METHOD, 1):
        card.disc(516, y, 17, "#d98b5f")
        card.text(516, y, str(number), 20, WHITE, anchor="mm", bold=True)
        y = card.paragraph(550, y, step, 23, 500) + 20
    _cake(card, 900, 130)
    card.line([(60, 600), (1060, 600)], "#e2c9b4", 2)
    card.text(60, 642, "Keeps three days under a lid. Do not freeze.", 22, GREY)
    return card


def _cake(card: Canvas, x: float, y: float) -> None:
    card.disc(x, y + 46, 150, "#cfdadd", squash=0.16)
    card.disc(x, y + 42, 138, "#eef3f4", squash=0.14)
    card.box(x - 104, y - 28, x + 104, y + 38, "#e0b15f", radius=10)
    card.disc(x, y + 36, 104, "#d09e4a", squash=0.12)
    card.box(x - 104, y - 28, x + 104, y + 30, "#e0b15f", radius=4)
    card.disc(x, y - 28, 104, "#fff4d6", squash=0.22)
    for side, drop in ((-80, 16), (-48, 30), (-14, 20), (22, 34), (58, 22), (86, 12)):
        card.box(x + side - 13, y - 20, x + side + 13, y - 8 + drop, "#fff4d6", radius=13)
    for side in (-52, 0, 52):
        card.disc(x + side, y - 30, 21, YELLOW, squash=0.5)
        card.disc(x + side, y - 30, 16, "#fbe08a", squash=0.5)
        for angle in (0, 60, 120):
            spoke = moved(turned([(-15, 0), (15, 0)], angle), 0, 0)
            card.line([(x + side + px, y - 30 + py * 0.5) for px, py in spoke], "#edc25a", 1.5)


def packet() -> Canvas:
    """The back of a packet of oat bars: values per 100 g only, allergens in small print."""
    counter = Canvas(1000, 1000, "#8e9aa3")
    counter.grain("#7d8a9455", 300, 8, 60)
    counter.grain("#a5b0b855", 300, 9, 40)
    counter.lay(_packet_back(), 500, 500, 2.2)
    return counter


def _packet_back() -> Canvas:
    back = Canvas(800, 880, "#3d6b5c")
    back.text(50, 70, "Oat and seed bars", 42, "#f6e9c9", bold=True)
    back.text(50, 118, f"{BARS} bars x {BAR_GRAMS} g   =   {BARS * BAR_GRAMS} g", 24, "#dfe9d9")
    _sprig(back, 690, 90)
    back.box(40, 152, 760, 566, "#fbfaf5", radius=10)
    back.text(64, 184, "Nutrition", 26, bold=True)
    back.text(736, 184, "per 100 g", 24, anchor="rm", bold=True)
    for row, (name, value) in enumerate(NUTRITION):
        y = 234 + row * 43
        back.line([(60, y - 22), (740, y - 22)], LIGHT, 1.5)
        back.text(64, y, name, 24)
        back.text(736, y, value, 24, anchor="rm")
    y = back.paragraph(50, 610, INGREDIENTS, 23, 700, "#f4f1e4", leading=1.35)
    y = back.paragraph(50, y + 12, ALLERGENS, 23, 700, "#f6e9c9", leading=1.35)
    back.line([(50, y + 2), (750, y + 2)], "#6f9687", 1.5)
    back.text(50, 838, "Store cool and dry. Best before: see the lid.", 21, "#dfe9d9")
    back.box(676, 808, 760, 862, "#f6e9c9", radius=8)
    back.text(718, 835, "6 x", 26, RED, anchor="mm", bold=True)
    return back


def _sprig(back: Canvas, x: float, y: float) -> None:
    back.line(smooth([(x - 50, y + 46), (x, y + 8), (x + 34, y - 48)]), "#d9c27a", 3)
    grain = smooth([(0, 0), (9, -13), (0, -34), (-9, -13)], closed=True)
    for px, py, angle in ((-30, 32, -70), (-14, 20, 20), (0, 8, -75), (10, -8, 30), (18, -20, -60), (34, -46, 15)):
        back.poly(moved(turned(grain, angle), x + px, y + py), "#ecd793")
