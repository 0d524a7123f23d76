"""Drawings and plots: what hovering over a mark shows, the tables beside them, and what a large plot leaves out."""

import io
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from arena.drawing_png import png
from arena.drawings import (
    BoxMark,
    Drawing,
    GridCell,
    LineMark,
    RatingRow,
    ShareRow,
    counts_drawing,
    grid_drawing,
    lines_drawing,
    ratings_drawing,
    shares_drawing,
    svg,
    svg_file,
    wrapped,
)
from arena.plots import (
    MOST_COLUMNS,
    MOST_LISTED,
    Plot,
    RatingLine,
    battle_count_plot,
    history_plot,
    interval_plot,
    plots_page,
    win_rate_plot,
)
from tests.support.sheets import texts

HOSTILE = "<script>alert(1)</script>&amp;"
SHAPES = ("circle", "rect", "g")


def hovers(drawing: Drawing) -> dict[str, set[str]]:
    """Return what hovering shows by the kind of element; every point, bar and cell shows something."""
    root = ElementTree.fromstring(svg_file(drawing))
    shown: dict[str, set[str]] = {}
    for parent in root.iter():
        for element in parent:
            name = element.tag.rpartition("}")[2]
            title = element.find("{*}title")
            if title is not None:
                shown.setdefault(name, set()).add(title.text)
            else:
                assert name not in SHAPES or parent.tag.endswith("}g"), ElementTree.tostring(
                    element
                )
    return shown


def drawing_of(kind: str, name: str) -> Drawing:
    match kind:
        case "ratings":
            return ratings_drawing(
                "R", "", [RatingRow(name, 1012.4, 980.2, 1040.6), RatingRow("y", 9, None, None)], 24
            )
        case "shares":
            return shares_drawing(
                "S", "", [ShareRow(name, 0.6125, 0.5, 0.7, 1200)], {"chance": 0.5}
            )
        case "counts":
            return counts_drawing("C", "", [name, "2026-11-02"], [1200, 0])
        case "lines":
            return lines_drawing(
                "L", "", ["2026-11-01", "2026-11-02"], {name: [1000.4, None], "y": [None, 2.0]}
            )
        case _:
            cells = [[GridCell("73%", 0.46, title=f"{name} beats y: 73.2%"), GridCell("")]]
            return grid_drawing("G", "", [name], [name, "y"], cells)


@pytest.mark.parametrize(
    ("kind", "element", "shown"),
    [
        ("ratings", "circle", {f"{HOSTILE}: 1012 (980–1041)", "y: 9"}),
        ("ratings", "line", {f"{HOSTILE}: 1012 (980–1041)"}),
        ("ratings", "rect", {f"{HOSTILE}: 1012 (980–1041)"}),
        ("shares", "circle", {f"{HOSTILE}: 61.3% (50–70%, n = 1,200)"}),
        ("shares", "line", {f"{HOSTILE}: 61.3% (50–70%, n = 1,200)"}),
        ("counts", "rect", {f"{HOSTILE}: 1,200", "2026-11-02: 0"}),
        ("lines", "circle", {f"{HOSTILE}, 2026-11-01: 1000", "y, 2026-11-02: 2"}),
        ("grid", "g", {f"{HOSTILE} beats y: 73.2%"}),
    ],
)
def test_hovering_over_a_mark_shows_its_numbers(kind, element, shown):
    drawing = drawing_of(kind, HOSTILE)
    assert hovers(drawing)[element] == shown
    assert "<script" not in svg(drawing, "name")


def test_what_only_the_mouse_finds_covers_nothing_in_a_png():
    marks = (LineMark(10, 0, 10, 20, "warm", 2), BoxMark(0, 0, 20, 20, "accent", 0, "x: 1"))
    picture = Image.open(io.BytesIO(png(Drawing("D", "", 20, 20, marks), margin=0)))
    assert picture.getpixel((20, 20)) == (181, 72, 47) and picture.getpixel((5, 20)) == (
        255,
        255,
        255,
    )


def test_lines_of_small_numbers_show_decimals():
    drawing = lines_drawing("L", "", ["delta 1"], {"This map": [0.28931]}, least=0.1, decimals=3)
    assert hovers(drawing)["circle"] == {"This map, delta 1: 0.289"}


def test_a_pair_seen_in_one_order_only_counts_on_both_sides():
    met = battle_count_plot(["x", "y", "z"], np.array([[0, 10, 0], [0, 0, 1], [0, 2, 0.0]]))
    assert texts(met.table) == [["x", "–", "10", "–"], ["y", "10", "–", "3"], ["z", "–", "3", "–"]]
    assert hovers(met.drawing)["g"] >= {"x and y: 10 battles", "z and y: 3 battles"}
    assert [cell.strength for cell in met.drawing.marks if cell.kind == "cell"] == [
        0.5,
        0.5,
        0.15,
        0.15,
    ]


def test_win_rates_name_who_wins():
    chances = win_rate_plot(["x", "y"], np.array([[np.nan, 0.754], [0.246, np.nan]]))
    assert texts(chances.table) == [["x", "–", "75%"], ["y", "25%", "–"]]
    assert hovers(chances.drawing)["g"] == {"x beats y: 75.4%", "y beats x: 24.6%"}
    assert {mark.tone for mark in chances.drawing.marks if mark.kind == "cell"} == {
        "accent",
        "warm",
    }


@pytest.mark.parametrize(
    ("models", "note"),
    [
        (MOST_COLUMNS, ""),
        (40, "The chart shows the first 16 of 40 models. The table shows all of them."),
        (100, "The chart shows the first 16 of 100 models. The table shows the first 80."),
    ],
)
def test_a_heat_map_says_how_much_of_it_is_drawn_and_listed(models, note):
    plot = battle_count_plot([f"m{number}" for number in range(models)], np.ones((models, models)))
    assert sum(mark.kind == "cell" for mark in plot.drawing.marks) == MOST_COLUMNS**2
    assert len(plot.table.frame) == len(plot.table.columns) - 1 == min(models, MOST_LISTED)
    assert plot.note.endswith(note or "Blank: never.")


def test_more_lines_than_colours_are_in_the_table_alone():
    lines = [RatingLine(f"m{number}", [1000.0 + number, None]) for number in range(8)]
    plot = history_plot(["2026-11-01", "2026-11-02"], lines)
    assert texts(plot.table) == [
        ["2026-11-01", *(str(1000 + number) for number in range(8))],
        ["2026-11-02", *["–"] * 8],
    ]
    assert len(hovers(plot.drawing)["circle"]) == 6
    assert plot.note.endswith("The chart shows the first 6 models, the table 8.")


def test_a_page_has_each_plot_with_its_table_or_says_why_there_is_none():
    ratings = interval_plot([RatingRow(HOSTILE, 1000, None, None)], "A caption.")
    html = plots_page(
        "A title", [ratings, Plot("Battles", "Nobody met."), interval_plot([], "A caption.")]
    )
    assert html.count("<svg") == html.count("<table") == 1 and html.count("<h2>") == 3
    assert "Nobody met." in html and "No model has a rating." in html and "<script" not in html
    assert '<th scope="row" class="name">&lt;script&gt;' in html
    assert '<td class="score">1000</td>' in html


@pytest.mark.parametrize("name", ["图表理解与视觉推理能力测试问题", "图表理解与视觉 推理能力测试"])
def test_a_line_holds_half_as_many_chinese_letters(name):
    lines = wrapped(name, 10, 3)
    assert len(lines) == 3
    assert all(len(line) <= 5 for line in lines)
