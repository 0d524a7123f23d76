"""Pictures by their addresses."""

import io

import PIL.Image
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from arena.admin.moderation import hide, show
from arena.io.images import PictureStore, read_picture
from arena.io.scaled_pictures import ScaledPictures
from arena.items.ingest import ImageDraft, Ingest, ItemDraft
from arena.items.store import ItemBank
from arena.templates import macros
from arena.types import Image, Item
from arena.web.pictures import routes, shown_images


def test_a_hidden_items_picture_is_served_only_where_another_item_shows_it(database, tmp_path):
    store, items = PictureStore(tmp_path / "pictures"), ItemBank(database)
    items.CHECK_SECONDS = 0.0
    images = []
    for color in ("red", "blue"):
        stream = io.BytesIO()
        PIL.Image.new("RGB", (800, 600), color).save(stream, "PNG")
        store.keep(picture := read_picture(stream.getvalue()))
        images.append(
            ImageDraft(color, f"{color}.png", sha256=picture.sha256, suffix=picture.suffix)
        )
    asked = {"red": images[:1], "both": images, "red again": images[:1]}
    added = [
        ItemDraft(f"What is {name}?", "Color", tuple(shown), {}) for name, shown in asked.items()
    ]
    Ingest(database).add_items("test", "folder", added)
    keys = [item.key for item in items.bank().items.values()]
    app = FastAPI()
    scaled = ScaledPictures(store, tmp_path / "scaled")
    app.include_router(routes(store, scaled, lambda: items.bank().hidden_pictures))
    client = TestClient(app)

    def served() -> list[bool]:
        """Whether red and blue are, under each of their addresses alike."""
        found = []
        for image in images:
            names = (
                f"{image.sha256}.{image.suffix}",
                f"{image.sha256}.thumb.jpg",
                f"320/{image.sha256}.webp",
            )
            (status,) = {client.get(f"/pictures/{name}").status_code for name in names}
            found.append(status == 200)
        return found

    expected = [[True, True], [True, True], [True, False], [False, False]]
    assert served() == expected[0]
    for key, after in zip(keys, expected[1:], strict=True):
        with database.write() as connection:
            hide(connection, key)
        assert served() == after
    with database.write() as connection:
        show(connection, keys[1])
    assert served() == [True, True]


@pytest.mark.parametrize(
    ("size", "is_long"),
    [
        ((1080, 12000), True),
        ((6000, 600), True),
        ((400, 1100), True),
        ((400, 900), False),
        ((1600, 1200), False),
        ((90, 900), False),
    ],
)
def test_a_long_picture_asks_to_be_enlarged(tmp_path, size, is_long):
    store = PictureStore(tmp_path / "pictures")
    stream = io.BytesIO()
    PIL.Image.new("RGB", size, "red").save(stream, "PNG")
    store.keep(picture := read_picture(stream.getvalue()))
    image = Image(picture.sha256, picture.suffix, None, "", "", "")
    item = Item(1, "key", 1, "Color", "What?", (image,), ())
    shown = shown_images(item.images, ScaledPictures(store, tmp_path / "scaled"))
    page = macros("battle.html").item(item, shown)
    assert ("<span>Enlarge picture</span>" in page) == is_long
