"""Pictures: an upload becomes an upright picture of bounded size without metadata, or a PictureError."""

import hashlib
import io
import math
import os
import re
import struct
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageCms, ImageFile
from PIL.GifImagePlugin import GifImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.WebPImagePlugin import WebPImageFile

from arena.errors import VoterError

MAX_BYTES = 25_000_000
"""Largest file read, in bytes."""
KEPT_SIDE = 1600
"""Longest side of a stored picture, in pixels, unless it is so long that its details would be lost."""
LONG_PICTURE_SHORTER_SIDE = 1200
LONG_PICTURE_LONGER_SIDE = 8000
LONG_PICTURE_PIXELS = 4_000_000
"""Bounds on the sides and the area, in pixels, of a long picture such as a screenshot of a page.

Servers that take pictures whole count one token for 28 x 28 pixels (Qwen2.5-VL) or for about 750 (Claude), and refuse
sides over 8,000 pixels (docs.claude.com/en/docs/vision). Others make it smaller by rules of their own, as OpenAI's do.
"""
THUMBNAIL_SIDE = 320
"""Longest side of a thumbnail, in pixels."""

_MEGA = 1_000_000
_MOST_JPEG_PIXELS = 60 * _MEGA
"""JPEG is decoded at a reduced scale; but with several scans libjpeg holds the whole picture, up to 6 bytes a pixel."""
_MOST_PIXELS = 20 * _MEGA
"""The limit of all other formats, which are decoded whole."""
_MOST_SCANS = 25  # a good JPEG has at most 18; each scan costs a pass over all pixels
_MOST_SEGMENTS = 2000  # 25 MB of metadata in full segments are 400
_MOST_SKIPPED = 100_000  # bytes between a JPEG's segments, which Pillow reads one by one
_MOST_PNG_CHUNKS = 30_000  # 25 MB in chunks of a kilobyte
_MOST_GIF_BLOCKS = 100_000  # 25 MB of metadata in full blocks
_MOST_PNG_BYTES = 1_500_000
_QUALITY = 88
_ON_ITS_SIDE = range(5, 9)
"""The orientations of EXIF for which width and height change places."""

_PNG_START = b"\x89PNG\r\n\x1a\n"
# Pillow's plugins are called directly: Image.open judges the size by a limit that the whole process shares.
_READERS = {"PNG": PngImageFile, "JPEG": JpegImageFile, "WEBP": WebPImageFile, "GIF": GifImageFile}
_ACCEPTED = "Save it as PNG, JPEG, WEBP or GIF and try again."

_OTHER_KINDS = (
    (re.compile(rb"\A\s*\Z"), "empty"),
    (
        re.compile(
            rb"(?i)\A(?:\xef\xbb\xbf)?\s*(?:<(?:\?xml|!--|!DOCTYPE svg)[\s\S]{0,2000}?)?<svg"
        ),
        "an SVG drawing",
    ),
    (re.compile(rb"\A(?:\xef\xbb\xbf)?\s*<"), "a web page or XML file"),
    (re.compile(rb"\A[\s\S]{4}ftyp(?:hei|hev|mif1|msf1)"), "a HEIC photo"),
    (re.compile(rb"\A[\s\S]{4}ftypavi"), "an AVIF picture"),
    (re.compile(rb"\A[\s\S]{4}ftyp"), "a video"),
    (re.compile(rb"\A(?:II[\x2a\x2b]\0|MM\0[\x2a\x2b])"), "a TIFF picture"),
    (re.compile(rb"\ABM[\s\S]{4}\0{4}"), "a BMP picture"),
    (re.compile(rb"\A\0\0[\1\2]\0"), "a Windows icon"),
    (re.compile(rb"\A(?:\xff\x0a|\0\0\0\x0cJXL )"), "a JPEG XL picture"),
    (re.compile(rb"\A(?:\0\0\0\x0cjP  |\xff\x4f\xff\x51)"), "a JPEG 2000 picture"),
    (re.compile(rb"\A8BPS"), "a Photoshop file"),
    (re.compile(rb"\A%(?:PDF|!PS)"), "a PDF or PostScript document"),
    (re.compile(rb"\APK[\3\5]"), "a ZIP archive or Office document"),
)
_HIDDEN_PAGE = re.compile(rb"<(?:!doctype\s+html|html|script)[\s/>]", re.IGNORECASE)
_PNG_ORIENTATION = re.compile(rb"eXIf|Raw profile type|XML:com\.adobe\.xmp")
"""The names of a PNG's parts in which Pillow looks for an orientation."""
_GIF_FRAME = 0x2C
_GIF_EXTENSION = 0x21
_GIF_CONTROL = b"\x21\xf9"
_BITS_14 = 0x3FFF
_JPEG_SCAN = b"\xda"
_JPEG_END = b"\xd9"
_MARKER = re.compile(rb"\xff([^\x00\x01\xd0-\xd8\xff])")

# Errors of Pillow and its codecs for broken files; a warning is raised where warnings are errors.
_BROKEN = (
    OSError, SyntaxError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, AssertionError, EOFError,
    MemoryError, RuntimeError, struct.error, zlib.error, Warning,
)  # fmt: skip


class PictureError(VoterError):
    """A file is not an accepted picture; the message says why, and how to fix it."""


@dataclass(frozen=True)
class Picture:
    """A re-encoded picture without metadata, with its thumbnail."""

    sha256: str
    """Hash of `data` in 64 hexadecimal digits, which names the picture."""
    data: bytes
    """PNG or JPEG."""
    thumbnail: bytes
    """JPEG."""
    width: int
    height: int
    """Size of the picture in `data`, in pixels."""
    suffix: str
    """jpg or png."""


def read_picture(data: bytes) -> Picture:
    """Checks a picture, turns it upright, shrinks it and encodes it without metadata; equal bytes in, equal bytes out.

    Of an animation only the first frame is used. Transparency becomes white. Raises PictureError for any other format,
    over 25 MB, too many pixels (by the header), or broken data.
    """
    kind = _checked_kind(data)
    with _picture_errors(kind):
        image = _pixels(data, kind)
        stored = encode(image, kind)
        width, height = image.size
        image.thumbnail((THUMBNAIL_SIDE, THUMBNAIL_SIDE), Image.Resampling.LANCZOS)
        thumbnail = _jpeg(image)
    return Picture(
        sha256=hashlib.sha256(stored).hexdigest(),
        data=stored,
        thumbnail=thumbnail,
        width=width,
        height=height,
        suffix="png" if stored.startswith(_PNG_START) else "jpg",
    )


def kept_size(width: int, height: int, kind: str) -> tuple[int, int]:
    """Returns width and height at which a picture is stored: its own, or smaller in the same proportions.

    The longer side has up to KEPT_SIDE pixels. A picture longer than 4:3 may be larger, within the LONG_PICTURE
    bounds. Raises PictureError for one so long that its shorter side would keep under half of its pixels, or of
    LONG_PICTURE_SHORTER_SIDE if it has more.
    """
    shorter, longer = sorted((width, height))
    ordinary_scale = KEPT_SIDE / longer
    readable_scale = min(1.0, LONG_PICTURE_SHORTER_SIDE / shorter)
    longer_scale = LONG_PICTURE_LONGER_SIDE / longer
    area_scale = math.sqrt(LONG_PICTURE_PIXELS / (width * height))
    long_scale = min(readable_scale, longer_scale, area_scale)
    scale = min(1.0, max(ordinary_scale, long_scale))
    if scale < readable_scale / 2:
        raise PictureError(
            "This {} picture ({} pixels) is too long to stay readable. Cut it into parts.",
            kind,
            f"{width} x {height}",
        )
    # Rounded down, since a picture above the limits would shrink again when it is read again. Before that, `round`
    # removes floating-point errors: 1599.9999999 is 1600.
    return max(1, int(round(width * scale, 3))), max(1, int(round(height * scale, 3)))


def picture_size(data: bytes) -> tuple[int, int]:
    """Returns width and height of a picture turned upright, from its header. Raises PictureError."""
    kind = _checked_kind(data)
    with _picture_errors(kind):
        image = _header(data, kind)
        width, height = image.size
        # For a PNG, Pillow decodes the pixels to look for metadata behind them.
        may_be_turned = kind != "PNG" or _PNG_ORIENTATION.search(data)
        if may_be_turned and _orientation(image) in _ON_ITS_SIDE:
            return height, width
        return width, height


@contextmanager
def _picture_errors(kind: str) -> Iterator[None]:
    try:
        yield
    except PictureError:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise PictureError("This {} picture has too many pixels. Make it smaller.", kind) from error
    except _BROKEN as error:
        raise PictureError(
            "This {} picture is broken or cut short. Open it, save it again and retry.", kind
        ) from error


def _checked_kind(data: bytes) -> str:
    """Returns the format of a picture by its first bytes. Raises PictureError for any other file and a large one."""
    if len(data) > MAX_BYTES:
        raise PictureError(
            "The picture is over the limit of {} MB. Make it smaller.",
            MAX_BYTES // _MEGA,
        )
    if data.startswith(_PNG_START):
        kind = "PNG"
    elif data.startswith(b"\xff\xd8\xff"):
        kind = "JPEG"
    elif data.startswith((b"GIF87a", b"GIF89a")):
        kind = "GIF"
    elif data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        kind = "WEBP"
    else:
        name = next(
            (name for pattern, name in _OTHER_KINDS if pattern.match(data)),
            "not a picture that we recognise",
        )
        raise PictureError("This file is {}. {}", name, _ACCEPTED)
    if _HIDDEN_PAGE.search(data):
        raise PictureError("A web page is hidden in this {} picture. {}", kind, _ACCEPTED)
    return kind


def _header(data: bytes, kind: str) -> ImageFile.ImageFile:
    """Reads the header and checks the number of pixels, without decoding."""
    if kind == "WEBP":  # libwebp allocates the whole canvas as soon as it is opened
        _check_pixels(_webp_size(data), _MOST_PIXELS, kind)
    elif kind == "GIF":
        data = _without_comments(data)
    elif kind == "JPEG":
        _check_scans(data)
    else:
        _check_chunks(data)
    image = _READERS[kind](io.BytesIO(data))
    _check_pixels(image.size, _MOST_JPEG_PIXELS if kind == "JPEG" else _MOST_PIXELS, kind)
    return image


def _check_pixels(size: tuple[int, int], most: int, kind: str) -> None:
    if size[0] * size[1] > most:
        shape = f"{size[0]} x {size[1]}"
        raise PictureError(
            "This {} picture has {} pixels, more than {} million. Make it smaller.",
            kind,
            shape,
            most // _MEGA,
        )


def _webp_size(data: bytes) -> tuple[int, int]:
    """Returns width and height, by https://developers.google.com/speed/webp/docs/riff_container and RFC 9649."""
    chunk = data[12:16]
    if chunk == b"VP8X":  # extended: sides less 1, in 24 bits each
        width_low, width_high, height_low, height_high = struct.unpack("<HBHB", data[24:30])
        return width_low + (width_high << 16) + 1, height_low + (height_high << 16) + 1
    if chunk == b"VP8L":  # lossless: sides less 1, in 14 bits each
        (bits,) = struct.unpack("<I", data[21:25])
        return (bits & _BITS_14) + 1, (bits >> 14 & _BITS_14) + 1
    width, height = struct.unpack("<HH", data[26:30])  # lossy: two bits of each are no size
    return width & _BITS_14, height & _BITS_14


def _without_comments(data: bytes) -> bytes:
    """Returns a GIF without the blocks before its first frame, except the graphic control (GIF89a, 23 to 26)."""
    # Pillow's time for a comment grows with its square: hours for 25 MB.
    header_end = 13
    flags = data[10]
    if flags & 0x80:  # a table of colours, 3 bytes each
        header_end += 3 * (2 << (flags & 7))
    position = header_end
    blocks = 0
    control = b""
    while data[position] != _GIF_FRAME:
        begin = position
        position += 1
        if data[begin] == _GIF_EXTENSION:
            position += 1  # its label
            while size := data[position]:
                position += 1 + size
                blocks += 1
            position += 1  # the size 0 that ends it
        blocks += 1
        if blocks > _MOST_GIF_BLOCKS:
            raise PictureError(
                "This GIF picture has over {} parts before a frame. {}", _MOST_GIF_BLOCKS, _ACCEPTED
            )
        if data[begin : begin + 2] == _GIF_CONTROL:
            control = data[begin:position]
    return data[:header_end] + control + data[position:]


def _check_scans(data: bytes) -> None:
    """Raises PictureError for a JPEG that takes long to decode, ValueError for one without a scan (T.81, B.2.3)."""
    position = 2
    segments = 0
    scans = 0
    skipped = 0
    while (marker := _MARKER.search(data, position)) and marker[1] != _JPEG_END:
        segments += 1
        if marker[1] == _JPEG_SCAN:
            scans += 1
        if not scans:  # later, the bytes between segments are the compressed pixels
            skipped += marker.start() - position
        position = marker.end() + int.from_bytes(data[marker.end() : marker.end() + 2], "big")
        if scans > _MOST_SCANS or segments > _MOST_SEGMENTS:
            raise PictureError(
                "This JPEG picture has over {} scans or {} parts. {}",
                _MOST_SCANS,
                _MOST_SEGMENTS,
                _ACCEPTED,
            )
        if skipped > _MOST_SKIPPED:
            raise PictureError(
                "This JPEG picture has over {} bytes between its parts. {}",
                _MOST_SKIPPED,
                _ACCEPTED,
            )
    if not scans:
        raise ValueError("no scan")


def _check_chunks(data: bytes) -> None:
    """Raises PictureError for a PNG with more chunks (PNG, 5.3) than encoders write; Pillow reads them one by one."""
    position = 8
    chunks = 0
    while position < len(data) and data[position + 4 : position + 8] != b"IEND":
        position += 12 + int.from_bytes(data[position : position + 4], "big")
        chunks += 1
        if chunks > _MOST_PNG_CHUNKS:
            raise PictureError(
                "This PNG picture has over {} parts. {}", _MOST_PNG_CHUNKS, _ACCEPTED
            )


def _pixels(data: bytes, kind: str) -> Image.Image:
    """Returns upright sRGB pixels on white, at the size that is stored, without metadata."""
    image = _header(data, kind)
    size = kept_size(*image.size, kind)
    if isinstance(image, JpegImageFile):
        image.draft(None, size)
    profile = image.info.get("icc_profile")
    orientation = _orientation(image)
    pixels = _plain(image)
    if pixels.size != size:
        pixels = pixels.resize(size, Image.Resampling.LANCZOS, reducing_gap=2.0)
    pixels = _in_srgb(pixels, profile)
    fresh = Image.new("RGB", pixels.size, "white")
    fresh.paste(pixels, mask=pixels.getchannel("A") if pixels.mode == "RGBA" else None)
    return _turned(fresh, orientation)


def _plain(image: Image.Image) -> Image.Image:
    """Decodes to mode L, RGB, RGBA or CMYK."""
    image.load()
    if image.mode.startswith("I"):  # 16 bits: Pillow would clip, not scale
        grey = image.point(lambda value: value / 256).convert("L")
        transparent_grey = image.info.get("transparency")
        if transparent_grey is None:
            return grey
        opacities = [255] * 2**16
        opacities[transparent_grey] = 0
        grey.putalpha(image.convert("I").point(opacities, "L"))
        return grey.convert("RGBA")
    mode = image.mode if image.mode in ("L", "CMYK") else "RGB"
    if image.has_transparency_data:
        mode = "RGBA"
    return image if image.mode == mode else image.convert(mode)


def _in_srgb(image: Image.Image, profile: bytes | None) -> Image.Image:
    """Converts by the embedded profile; a profile that is broken or does not fit is ignored."""
    target = image.mode if image.mode in ("RGB", "RGBA") else "RGB"
    if profile and image.mode in ("RGB", "RGBA", "CMYK"):
        with suppress(ImageCms.PyCMSError, OSError, ValueError, TypeError):
            source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            srgb = ImageCms.createProfile("sRGB")
            converted = ImageCms.profileToProfile(image, source, srgb, outputMode=target)
            if converted is not None:  # only `inPlace` returns None
                return converted
    return image.convert(target)


def _orientation(image: Image.Image) -> int:
    """Returns the orientation, 1 to 8 as in EXIF 2.3, 4.6.4; 1 if the metadata is absent or broken, as in browsers."""
    try:
        value = image.getexif().get(0x0112, 1)
    except _BROKEN:
        return 1
    return value if isinstance(value, int) and 1 <= value <= 8 else 1


def _turned(image: Image.Image, orientation: int) -> Image.Image:
    turns = Image.Transpose
    turn = {
        2: turns.FLIP_LEFT_RIGHT, 3: turns.ROTATE_180, 4: turns.FLIP_TOP_BOTTOM, 5: turns.TRANSPOSE,
        6: turns.ROTATE_270, 7: turns.TRANSVERSE, 8: turns.ROTATE_90,
    }.get(orientation)  # fmt: skip
    return image if turn is None else image.transpose(turn)


def encode(image: Image.Image, kind: str) -> bytes:
    """Encodes a picture: as PNG if it was PNG or GIF and stays small, else as JPEG."""
    if kind in ("PNG", "GIF"):
        stream = io.BytesIO()
        image.save(stream, "PNG", optimize=True)
        if stream.tell() <= _MOST_PNG_BYTES:
            return stream.getvalue()
    return _jpeg(image, subsampling=0)


def _jpeg(image: Image.Image, subsampling: int = 2) -> bytes:
    """Encodes as JPEG. `subsampling` is Pillow's: 0 keeps each pixel's colour, 2 one colour for four pixels."""
    stream = io.BytesIO()
    # Without `optimize`: Pillow's buffer for it is too small for a picture of noise.
    image.save(stream, "JPEG", quality=_QUALITY, subsampling=subsampling)
    return stream.getvalue()


def difference_hash(picture: Picture) -> str:
    """Returns the perceptual hash dHash, 64 bits in 16 hexadecimal digits; similar pictures differ in few bits.

    The picture is reduced to 9 x 8 grey fields; each bit is 1 if a field is lighter than the next in its row.
    """
    grey = (
        JpegImageFile(io.BytesIO(picture.thumbnail))
        .convert("L")
        .resize((9, 8), Image.Resampling.LANCZOS)
    )
    fields = grey.tobytes()
    bits = 0
    for row in range(8):
        for place in range(9 * row, 9 * row + 8):
            bits = 2 * bits + int(fields[place] > fields[place + 1])
    return f"{bits:016x}"


class PictureStore:
    """Folder of pictures named by the hash of their content."""

    _NAME = re.compile(r"[0-9a-f]{64}\.(?:jpg|png|thumb\.jpg)")

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def keep(self, picture: Picture) -> None:
        """Writes a picture and its thumbnail, each whole or not at all, even in a crash. Raises OSError."""
        if not self.has(picture.sha256):
            self._write(f"{picture.sha256}.thumb.jpg", picture.thumbnail)
            self._write(f"{picture.sha256}.{picture.suffix}", picture.data)

    def has(self, sha256: str) -> bool:
        """Returns whether a picture of this hash is stored, with its thumbnail."""
        if self.path(f"{sha256}.thumb.jpg") is None:
            return False
        return any(self.path(f"{sha256}.{suffix}") for suffix in ("jpg", "png"))

    def path(self, name: str) -> Path | None:
        """Returns the path of a stored file; None for any name but `<sha256>.jpg`, `.png` and `.thumb.jpg`."""
        if not self._NAME.fullmatch(name):
            return None
        path = self.folder / name
        return path if path.is_file() else None

    def _write(self, name: str, data: bytes) -> None:
        handle, part = tempfile.mkstemp(prefix=".part-", dir=self.folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(part).replace(self.folder / name)
        finally:
            Path(part).unlink(missing_ok=True)
