"""Pictures: what is refused, what is kept, what it costs."""

import hashlib
import io
import random
import struct
import subprocess
import sys
import zlib
from functools import cache
from pathlib import Path

import pytest
from PIL import Image, ImageCms, PngImagePlugin

from arena.io.images import (
    LONG_PICTURE_PIXELS,
    MAX_BYTES,
    Picture,
    PictureError,
    PictureStore,
    kept_size,
    picture_size,
    read_picture,
)

ROOT = Path(__file__).parents[3]
# In EXIF order 1 to 8: where the red, green, blue and black quarter of the stored picture end up, row by row.
TURNED = {1: "rgbk", 2: "grkb", 3: "kbgr", 4: "bkrg", 5: "rbgk", 6: "brkg", 7: "kgbr", 8: "gkrb"}
COLOURS = {"r": (255, 0, 0), "g": (0, 255, 0), "b": (0, 0, 255), "k": (0, 0, 0)}


def encoded(image: Image.Image, kind: str, **options) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def opened(picture: Picture) -> Image.Image:
    image = Image.open(io.BytesIO(picture.data))
    image.load()
    return image


@cache
def noise(mode: str = "RGB", width: int = 40, height: int = 30) -> Image.Image:
    dots = random.Random(1).randbytes(width * height * 3)
    return Image.frombytes("RGB", (width, height), dots).convert(mode)


def quarters() -> Image.Image:
    image = Image.new("RGB", (96, 64))
    for index, name in enumerate("rgbk"):
        image.paste(
            COLOURS[name],
            (48 * (index % 2), 32 * (index // 2), 48 * (index % 2) + 48, 32 * (index // 2) + 32),
        )
    return image


def exif(orientation: int = 1) -> Image.Exif:
    data = Image.Exif()
    data[0x0112] = orientation
    data[0x010F] = "SecretMaker"
    data.get_ifd(0x8825).update({1: "N", 2: (48.0, 51.0, 29.0), 29: "SecretDate"})
    return data


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation(kind, orientation):
    image = opened(read_picture(encoded(quarters(), kind, exif=exif(orientation))))
    assert image.size == ((96, 64) if orientation < 5 else (64, 96))
    places = [(image.width * x // 4, image.height * y // 4) for y in (1, 3) for x in (1, 3)]
    for name, place in zip(TURNED[orientation], places, strict=True):
        assert all(
            abs(a - b) < 12 for a, b in zip(image.getpixel(place), COLOURS[name], strict=True)
        )


def test_a_turned_picture_has_the_size_that_is_kept():
    chunks = PngImagePlugin.PngInfo()
    chunks.add_itxt("XML:com.adobe.xmp", '<rdf:Description tiff:Orientation="6"/>')
    data = encoded(quarters(), "PNG", pnginfo=chunks)
    picture = read_picture(data)
    assert picture_size(data) == (picture.width, picture.height) == (64, 96)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_no_metadata_is_kept(kind):
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    options = {
        "exif": exif(),
        "icc_profile": profile,
        "xmp": b"<x:xmpmeta>Secret</x:xmpmeta>",
        "comment": b"Secret",
    }
    source = encoded(noise(), kind, **options)
    assert b"Secret" in source
    picture = read_picture(source)
    for data in (picture.data, picture.thumbnail):
        image = Image.open(io.BytesIO(data))
        assert b"Secret" not in data and b"Exif" not in data and b"ICC" not in data
        assert not image.getexif() and not {"exif", "icc_profile", "comment", "xmp", "dpi"} & set(
            image.info
        )


def test_text_and_trailing_bytes_go():
    data = encoded(noise(), "PNG")
    data = data[:33] + chunk(b"tEXt", b"Author\0Secret") + data[33:] + b"Secret archive"
    picture = read_picture(data)
    assert b"Secret" not in picture.data and not opened(picture).info


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_broken_metadata_does_not_refuse_a_good_picture():
    data = encoded(
        noise(), "JPEG", exif=b"Exif\0\0II*\0\xff\xff\xff\xffjunk", icc_profile=b"no profile"
    )
    assert (read_picture(data).width, read_picture(data).height) == (40, 30)


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "GIF"])
def test_transparency_becomes_white(kind):
    source = Image.new("RGBA", (60, 40), (255, 0, 0, 0))
    source.paste((0, 0, 255, 255), (30, 0, 60, 40))
    image = opened(read_picture(encoded(source, kind)))
    assert image.mode == "RGB"
    assert all(value > 250 for value in image.getpixel((10, 20)))
    assert image.getpixel((50, 20))[2] > 240 and image.getpixel((50, 20))[0] < 15


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
def test_png_modes(mode):
    picture = read_picture(encoded(noise("L").convert(mode), "PNG"))
    assert picture.suffix == "png" and opened(picture).mode == "RGB"


def test_a_transparent_grey_of_sixteen_bits_becomes_white():
    image = Image.new("I;16", (40, 30), 0x1234)
    image.putpixel((0, 0), 0x1235)
    pixels = opened(read_picture(encoded(image, "PNG", transparency=0x1234))).convert("L")
    assert (pixels.getpixel((20, 20)), pixels.getpixel((0, 0))) == (255, 0x12)


def test_sixteen_bits_are_scaled():
    image = Image.frombytes("I;16", (4, 1), struct.pack("<4H", 0, 0x4000, 0x8000, 0xFFFF))
    kept = opened(read_picture(encoded(image, "PNG")))
    assert [kept.getpixel((x, 0))[0] for x in range(4)] == [0, 64, 128, 255]


def test_cmyk():
    picture = read_picture(encoded(Image.new("CMYK", (40, 30), (0, 255, 255, 0)), "JPEG"))
    red, green, blue = opened(picture).getpixel((20, 15))
    assert red > 200 and green < 60 and blue < 60


def test_colour_profile_is_applied():
    profile = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    red, blue = profile.index(b"rXYZ"), profile.index(b"bXYZ")
    # red and blue change places
    profile[red : red + 4] = b"bXYZ"
    profile[blue : blue + 4] = b"rXYZ"
    image = Image.new("RGB", (40, 30), (250, 10, 10))
    red, _, blue = opened(read_picture(encoded(image, "PNG", icc_profile=bytes(profile)))).getpixel(
        (20, 15)
    )
    assert blue > 240 and red < 20
    assert opened(read_picture(encoded(image, "PNG"))).getpixel((20, 15)) == (250, 10, 10)


@pytest.mark.parametrize("kind", ["GIF", "PNG", "WEBP"])
def test_first_frame_of_an_animation(kind):
    frames = [Image.new("RGB", (30, 20), colour) for colour in ("red", "lime", "blue")]
    image = opened(read_picture(encoded(frames[0], kind, save_all=True, append_images=frames[1:])))
    assert getattr(image, "n_frames", 1) == 1
    red, green, _ = image.getpixel((15, 10))
    assert red > 240 and green < 15


KEPT_SIZES = {
    "small": ((1600, 1200), (1600, 1200)),
    "photo": ((4000, 3000), (1600, 1200)),
    "square": ((4000, 4000), (1600, 1600)),
    "screen": ((3840, 2160), (2133, 1200)),
    "phone's page": ((1080, 12000), (600, 6666)),
    "desk's page": ((1280, 10000), (715, 5590)),
    "panorama": ((12000, 1500), (5656, 707)),
    "narrow": ((400, 12000), (266, 8000)),
    "line": ((8000, 1), (8000, 1)),
    "just readable": ((1000, 16000), (500, 8000)),
    "too long": ((1000, 16100), None),
    "much too long": ((300, 40000), None),
    "too wide": ((30000, 600), None),
    "long line": ((60000, 4), None),
}


@pytest.mark.parametrize(("size", "kept"), KEPT_SIZES.values(), ids=KEPT_SIZES)
def test_a_long_picture_stays_readable_or_is_refused(size, kept):
    if kept is None:
        told = f"PNG picture .{size[0]} x {size[1]} pixels. is too long to stay readable. Cut it"
        with pytest.raises(PictureError, match=told):
            kept_size(*size, "PNG")
        return
    assert kept_size(*size, "PNG") == kept
    assert kept_size(*size[::-1], "PNG") == kept[::-1], "the same on its side"
    assert kept_size(*kept, "PNG") == kept, "what is kept stays as it is"
    assert kept[0] * kept[1] <= LONG_PICTURE_PIXELS


@pytest.mark.parametrize(
    "kind", ["JPEG", *(pytest.param(kind, marks=pytest.mark.soak) for kind in ("PNG", "WEBP"))]
)
def test_a_long_screenshot_is_decoded_at_the_size_that_is_kept(kind):
    page = Image.new("RGB", (1080, 12000), "white")
    page.paste("black", (0, 6000, 1080, 12000))
    picture = read_picture(encoded(page, kind, exif=exif(6)))
    assert (picture.width, picture.height) == (6666, 600), "held upright, it is wide"
    kept = opened(picture)
    assert kept.getpixel((100, 300))[0] < 5 < 250 < kept.getpixel((6500, 300))[0]


def test_size_and_format_of_what_is_kept():
    small = read_picture(encoded(noise(), "PNG"))
    assert (small.width, small.height, small.suffix) == (40, 30, "png")
    wide = read_picture(encoded(Image.new("RGB", (4000, 10)), "PNG"))
    assert (wide.width, wide.height) == (4000, 10)
    assert Image.open(io.BytesIO(wide.thumbnail)).size == (320, 1)
    busy = read_picture(encoded(noise(width=1500, height=900), "PNG", compress_level=1))
    assert busy.suffix == "jpg"
    assert read_picture(encoded(noise(), "WEBP")).suffix == "jpg"
    assert Image.open(io.BytesIO(busy.thumbnail)).size == (320, 192)


def test_same_bytes_give_the_same_picture():
    data = encoded(noise("RGBA"), "PNG", exif=exif(6))
    first, second = read_picture(data), read_picture(data)
    assert first == second
    assert first.sha256 == hashlib.sha256(first.data).hexdigest()


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"", "empty"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "an SVG drawing"),
        (b"\xef\xbb\xbf\n<?xml version='1.0'?><!-- a --><svg/>", "an SVG drawing"),
        (b"<!DOCTYPE html><img src=x onerror=alert(1)>", "a web page"),
        (b"<html>\x89PNG\r\n\x1a\n", "a web page"),
        (b"\0\0\0\x18ftypheic\0\0\0\0", "a HEIC photo"),
        (b"\0\0\0\x18ftypmif1\0\0\0\0", "a HEIC photo"),
        (b"\0\0\0\x18ftypavif\0\0\0\0", "an AVIF picture"),
        (b"\0\0\0\x18ftypisom\0\0\0\0", "a video"),
        (encoded(Image.new("RGB", (9, 9)), "TIFF"), "a TIFF picture"),
        (encoded(Image.new("RGB", (9, 9)), "BMP"), "a BMP picture"),
        (encoded(Image.new("RGB", (32, 32)), "ICO"), "a Windows icon"),
        (encoded(Image.new("RGB", (32, 32)), "JPEG2000"), "a JPEG 2000 picture"),
        (b"\xff\x0a" + bytes(40), "a JPEG XL picture"),
        (b"8BPS\0\1", "a Photoshop file"),
        (b"%PDF-1.7", "a PDF"),
        (b"PK\3\4" + bytes(40), "a ZIP archive"),
        (encoded(Image.new("RGB", (9, 9)), "PPM"), "not a picture that we recognise"),
        (b"GIF90a" + bytes(40), "not a picture that we recognise"),
        (b"MZ\x90\0", "not a picture that we recognise"),
    ],
)
def test_others_are_named_and_refused(data, name):
    with pytest.raises(PictureError, match=f"{name}.*Save it as PNG, JPEG, WEBP or GIF"):
        read_picture(data)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
def test_a_page_hidden_in_a_picture_is_refused(kind):
    with pytest.raises(PictureError, match="A web page is hidden"):
        read_picture(
            encoded(noise("P" if kind == "GIF" else "RGB"), kind) + b"<ScRiPt src=//x></script>"
        )


def test_too_many_bytes():
    with pytest.raises(PictureError, match="25 MB"):
        read_picture(b"\xff\xd8\xff" + bytes(MAX_BYTES))


MEASURE = """
import sys
from pathlib import Path
from arena.io.images import PictureError, read_picture

def peak():  # not getrusage: that one starts from the peak of the process that started this one
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024

data = Path(sys.argv[1]).read_bytes()
before = peak()
try:
    picture = read_picture(data)
    result = f"{picture.width}x{picture.height}"
except PictureError as error:
    result = str(error)
print(peak() - before, result)
"""


def measured(data: bytes, folder: Path) -> tuple[str, float]:
    """Read a picture in a process of its own; return what came out and the extra MB at the peak."""
    (folder / "upload").write_bytes(data)
    command = [sys.executable, "-c", MEASURE, str(folder / "upload")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, timeout=60)
    extra, result = done.stdout.strip().split(" ", 1)
    return result, float(extra)


on_linux = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="memory is read from /proc"
)


@on_linux
@pytest.mark.parametrize(
    ("mode", "side", "kind", "options"),
    [
        ("1", 13_000, "PNG", {"optimize": True}),
        ("P", 6_000, "GIF", {}),
        pytest.param("RGB", 6_000, "WEBP", {"lossless": True, "method": 0}, marks=pytest.mark.soak),
        pytest.param("L", 9_000, "JPEG", {}, marks=pytest.mark.soak),
        ("L", 9_000, "JPEG", {"progressive": True}),
    ],
)
def test_bombs_cost_nothing(mode, side, kind, options, tmp_path):
    result, extra = measured(encoded(Image.new(mode, (side, side)), kind, **options), tmp_path)
    assert f"{side} x {side}" in result and "Make it smaller" in result
    assert extra < 5


@on_linux
def test_a_webp_canvas_is_bounded_before_memory_is_taken(tmp_path):
    data = bytearray(encoded(noise("RGBA"), "WEBP", exif=exif()))
    assert data[12:16] == b"VP8X"
    data[24:30] = b"\xff\x3f\0" * 2
    result, extra = measured(bytes(data), tmp_path)
    assert "16384 x 16384" in result and extra < 5


@pytest.mark.soak
@on_linux
@pytest.mark.parametrize(
    ("mode", "size", "kind", "options", "most"),
    [
        ("RGB", (8660, 5773), "JPEG", {}, 60),
        ("RGB", (6000, 4900), "JPEG", {"progressive": True, "subsampling": 0}, 240),
        ("RGBA", (5000, 4000), "WEBP", {"lossless": True, "method": 0}, 400),
        ("RGBA", (5000, 4000), "PNG", {"compress_level": 1}, 240),
        ("RGB", (3000, 19000), "JPEG", {"progressive": True, "subsampling": 0}, 400),
        ("RGBA", (1400, 14000), "PNG", {"compress_level": 1}, 240),
    ],
)
def test_large_pictures_cost_little(mode, size, kind, options, most, tmp_path):
    image = Image.linear_gradient("L").resize(size).convert(mode)
    result, extra = measured(encoded(image, kind, **options), tmp_path)
    assert result == "{}x{}".format(*kept_size(*size, kind))
    assert extra < most


def test_a_gif_comment_of_many_parts_is_quick():
    data = encoded(noise("P"), "GIF")
    start = 13 + 3 * (2 << (data[10] & 7))
    comment = b"\x21\xfe" + (b"\xff" + b"a" * 255) * 90_000 + b"\0"
    assert read_picture(data[:start] + comment + data[start:]) == read_picture(data)
    with pytest.raises(PictureError, match="parts before a frame"):
        read_picture(data[:start] + b"\x21\xfe\x01a\0" * 100_001 + data[start:])


@pytest.mark.parametrize("part", [b"\xff\xfe\0\2", b"\xff\xda\0\x08\1\1\0\0\x3f\0"])
def test_a_jpeg_of_many_parts_is_refused(part):
    data = encoded(noise(), "JPEG")
    with pytest.raises(PictureError, match="scans or 2000 parts"):
        read_picture(data[:2] + part * 3000 + data[2:])


@pytest.mark.parametrize("padding", [b"\xff", b"\xff\0", b"\xff\xd0"])
def test_a_jpeg_of_padding_is_refused(padding):
    data = encoded(noise(), "JPEG")
    assert read_picture(data[:2] + padding * 40_000 + data[2:]) == read_picture(data)
    with pytest.raises(PictureError, match="over 100000 bytes between its parts"):
        read_picture(data[:2] + padding * 110_000 + data[2:])
    with pytest.raises(PictureError, match="broken or cut short"):
        read_picture(data[:2] + padding * 110_000)


def test_a_png_of_many_parts_is_refused():
    data, chunk = encoded(noise(), "PNG"), b"\0\0\0\0prVt\x9d\xd7\xd1\xd6"
    with pytest.raises(PictureError, match="over 30000 parts"):
        read_picture(data[:33] + chunk * 30_001 + data[33:])
    assert read_picture(data + b"\0" * 1_000_000) == read_picture(data), (
        "what follows the end is not read"
    )


def samples() -> list[bytes]:
    colour = noise()
    return [
        encoded(colour, "JPEG", exif=exif(6)),
        encoded(colour, "JPEG", progressive=True),
        encoded(noise("CMYK"), "JPEG"),
        encoded(noise("RGBA"), "PNG", exif=exif(3)),
        encoded(noise("P"), "PNG", transparency=3),
        encoded(noise("L").convert("I;16"), "PNG"),
        encoded(
            noise("P"), "GIF", save_all=True, append_images=[noise("P").rotate(90)], transparency=1
        ),
        encoded(noise("RGBA"), "WEBP", lossless=True, exif=exif(8)),
        encoded(colour, "WEBP"),
    ]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("cuts", [50, pytest.param(200, marks=pytest.mark.soak)])
def test_cut_short(cuts):
    dice, kept = random.Random(5), 0
    for data in samples():
        for _ in range(cuts):
            cut = dice.randrange(len(data))
            try:
                read_picture(data[:cut])
            except PictureError as error:
                assert str(error).endswith(("retry.", "try again.", "smaller."))
            else:
                kept += 1
                # only what follows the first frame is missing
                assert cut > 0.9 * len(data) or data.startswith(b"GIF")
    assert kept < cuts


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("count", [400, pytest.param(2000, marks=pytest.mark.soak)])
def test_mutations_raise_nothing_else(count):
    dice, sources, kept = random.Random(7), samples(), 0
    for _ in range(count):
        data = bytearray(dice.choice(sources))
        for _ in range(dice.choice((1, 1, 2, 8))):
            place = dice.randrange(min(len(data), dice.choice((100, 10_000))))
            if dice.random() < 0.7:
                data[place] = dice.choice((0, 127, 128, 255, dice.randrange(256)))
            else:
                data[place : place + dice.randrange(8)] = dice.randbytes(dice.randrange(8))
        try:
            picture = read_picture(bytes(data))
        except PictureError:
            continue
        kept += 1
        assert opened(picture).size == (picture.width, picture.height)
    assert 0.1 * count < kept < 0.95 * count


def test_store(tmp_path):
    store, picture = PictureStore(tmp_path / "kept"), read_picture(encoded(noise(), "PNG"))
    assert not store.has(picture.sha256)
    store.keep(picture)
    names = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "kept").iterdir()}
    assert set(names) == {f"{picture.sha256}.png", f"{picture.sha256}.thumb.jpg"}
    store.keep(picture)
    assert names == {path.name: path.stat().st_mtime_ns for path in (tmp_path / "kept").iterdir()}
    assert store.has(picture.sha256)
    path = store.path(f"{picture.sha256}.png")
    assert path is not None and path.read_bytes() == picture.data
    thumbnail = store.path(f"{picture.sha256}.thumb.jpg")
    assert thumbnail is not None and thumbnail.read_bytes() == picture.thumbnail


def test_store_knows_only_its_own_names(tmp_path):
    (tmp_path / "secret.png").write_bytes(b"x")
    store, name = PictureStore(tmp_path / "kept"), "0" * 64
    (tmp_path / "kept" / f"{name}.png").write_bytes(b"x")
    (tmp_path / "kept" / "notes.png").write_bytes(b"x")
    assert store.path(f"{name}.png") and not store.has(name)
    for wrong in ("../secret.png", "notes.png", f"{name}.svg", f"{name}.png\n", f"/{name}.png", f"./{name}.png",
                  f"{name}.jpg", f"{name}.PNG", f"{'A' * 64}.png", f"{'٣' * 64}.png", "", "\0"):  # fmt: skip
        assert store.path(wrong) is None
        assert not store.has(wrong)


def test_a_failed_write_leaves_nothing(tmp_path):
    store, picture = PictureStore(tmp_path), read_picture(encoded(noise(), "PNG"))
    (tmp_path / f"{picture.sha256}.thumb.jpg").mkdir()
    with pytest.raises(OSError):
        store.keep(picture)
    assert [path.name for path in tmp_path.iterdir()] == [f"{picture.sha256}.thumb.jpg"]
    assert not store.has(picture.sha256)
