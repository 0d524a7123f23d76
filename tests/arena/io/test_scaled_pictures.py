"""Pictures at the width of a screen: bounded in bytes, upright, made once, and kept in a bounded folder."""

import io
from pathlib import Path

import pytest
from PIL import Image

from arena.io import scaled_pictures
from arena.io.images import PictureStore, read_picture
from arena.io.scaled_pictures import MOST_BYTES, ScaledPictures
from tests.support.disks import files_end_at


def kept(
    tmp_path: Path, image: Image.Image, kind: str = "PNG", **how
) -> tuple[ScaledPictures, str]:
    stream = io.BytesIO()
    image.save(stream, kind, **how)
    store, picture = PictureStore(tmp_path / "pictures"), read_picture(stream.getvalue())
    store.keep(picture)
    return ScaledPictures(store, tmp_path / "scaled"), picture.sha256


@pytest.mark.parametrize(
    "width", [320, *(pytest.param(one, marks=pytest.mark.soak) for one in (480, 640, 960))]
)
@pytest.mark.parametrize("kind", ["PNG", pytest.param("JPEG", marks=pytest.mark.soak)])
def test_even_noise_stays_below_the_bytes_of_its_width(tmp_path, width, kind):
    noise = Image.effect_noise((1500, 1100), 120).convert("RGB")
    pictures, name = kept(tmp_path, noise, kind)
    path = pictures.path(name, width)
    assert path.stat().st_size <= MOST_BYTES[width]
    with Image.open(path) as made:
        assert made.format == "WEBP" and made.width <= width
        assert made.width / made.height == pytest.approx(1500 / 1100, rel=0.01)


def test_a_picture_is_never_made_larger_and_its_size_is_known(tmp_path):
    pictures, name = kept(tmp_path, Image.new("RGB", (200, 50), "red"))
    assert pictures.size(name) == (200, 50)
    with Image.open(pictures.path(name, 960)) as made:
        assert made.size == (200, 50)


@pytest.mark.parametrize(
    ("size", "scaled"),
    [((600, 6000), (96, 960)), ((6000, 600), (320, 32)), ((320, 900), (320, 900))],
)
def test_a_long_picture_is_small_until_it_is_enlarged(tmp_path, size, scaled):
    pictures, name = kept(tmp_path, Image.new("RGB", size, "red"))
    assert pictures.size(name) == size
    with Image.open(pictures.path(name, 320)) as made:
        assert made.size == scaled


def test_a_turned_photo_is_upright(tmp_path):
    photo = Image.new("RGB", (800, 400), "red")
    photo.paste("blue", (0, 0, 400, 400))
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was held on its side
    pictures, name = kept(tmp_path, photo, "JPEG", exif=exif)
    assert pictures.size(name) == (400, 800)
    with Image.open(pictures.path(name, 320)) as made:
        red, _, blue = made.convert("RGB").getpixel((160, 20))
        assert made.size == (320, 640) and blue > red


def test_it_is_made_once_and_only_for_known_names_and_widths(tmp_path, monkeypatch):
    pictures, name = kept(tmp_path, Image.new("RGB", (700, 700), "red"))
    first = pictures.path(name, 480)
    monkeypatch.setattr(scaled_pictures, "scaled_picture", None)
    assert pictures.path(name, 480) == first
    for asked in (
        ("0" * 64, 480),
        (name, 481),
        (f"../pictures/{name}", 480),
        (name.upper(), 480),
        ("", 480),
    ):
        assert pictures.path(*asked) is None


def test_the_folder_is_bounded_and_the_oldest_give_way(tmp_path, monkeypatch):
    pictures, name = kept(tmp_path, Image.effect_noise((500, 500), 60).convert("RGB"))
    oldest = pictures.path(name, 320)
    monkeypatch.setattr(scaled_pictures, "MOST_FOLDER_BYTES", oldest.stat().st_size + 10)
    newest = pictures.path(name, 480)
    assert newest.is_file() and not oldest.is_file()
    again = ScaledPictures(PictureStore(tmp_path / "pictures"), tmp_path / "scaled")
    assert again.path(name, 320).is_file()


def test_a_file_that_vanishes_while_room_is_made_costs_only_the_scaled_picture(
    tmp_path, monkeypatch
):
    pictures, name = kept(tmp_path, Image.new("RGB", (700, 700), "red"))
    (tmp_path / "scaled" / ".part-gone").symlink_to(tmp_path / "gone")
    monkeypatch.setattr(scaled_pictures, "MOST_FOLDER_BYTES", 0)
    assert pictures.path(name, 480).parent.name == "pictures"


def test_who_finds_all_turns_taken_gets_the_picture_as_it_is_kept(tmp_path, monkeypatch):
    pictures, name = kept(tmp_path, Image.new("RGB", (700, 700), "red"))
    monkeypatch.setattr(scaled_pictures, "PATIENCE_SECONDS", 0.01)
    monkeypatch.setattr(pictures, "_turns", scaled_pictures.BoundedSemaphore(1))
    with pictures._turns:
        assert pictures.path(name, 480).suffix == ".png"


def test_a_picture_is_seen_as_it_is_kept_where_the_disk_takes_no_file(tmp_path):
    pictures, name = kept(tmp_path, Image.effect_noise((500, 500), 60).convert("RGB"))
    with files_end_at(50):
        assert pictures.path(name, 480).parent.name == "pictures"
    assert list((tmp_path / "scaled").iterdir()) == []
    assert pictures.path(name, 480).parent.name == "scaled"
