"""Hostile pictures, made here by code; a sound one is refused as a file whose text has to be recognised."""
# ruff: noqa: E501 - a trap a line reads better than a trap in ten

import random
import struct
import zlib

from PIL import Image

from tests.faults.traps import COMPLEX, DAMAGED, MB, TEXT, trap
from tests.ingestion.office_files import make_zip
from tests.ingestion.pdf_files import pdf, text
from tests.ingestion.pictures import make_picture, save_pages

SOUND, SMALL = "no_text_layer", "no_text_found"
MISMATCH = "extension_mismatch"


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(width: int, height: int, *more: bytes, pixels: bytes = b"") -> bytes:
    """A PNG of eight bits of grey that states this size, whatever pixels it has."""
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    body = b"".join(more) + chunk(b"IDAT", zlib.compress(pixels)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + header + body


def tiff(*entries: tuple[int, int, int], after: int = 0, more: bytes = b"") -> bytes:
    """A TIFF of one directory at 8 with these entries (tag, count, value), all long integers."""
    packed = b"".join(struct.pack("<HHII", tag, 4, count, value) for tag, count, value in entries)
    return b"II*\0" + struct.pack("<IH", 8, len(entries)) + packed + struct.pack("<I", after) + more


def bmp(width: int, height: int) -> bytes:
    return (
        b"BM"
        + struct.pack("<IHHI", 60, 0, 0, 54)
        + struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, 0, 0, 0, 0, 0)
    )


def jpeg_of_size(width: int, height: int) -> bytes:
    made = make_picture(kind="JPEG")
    at = made.index(b"\xff\xc0") + 5
    return made[:at] + struct.pack(">HH", height, width) + made[at + 4 :]


SIZED = ((256, 1, 100), (257, 1, 100), (258, 1, 8), (259, 1, 1), (262, 1, 1), (277, 1, 1), (278, 1, 100))
WHOLE = tiff(*SIZED, (273, 1, 200), (279, 1, 10_000), more=bytes(20_000))
PICTURES = (
    trap("pixels-30000-squared.png", lambda: png(30_000, 30_000), COMPLEX),
    trap("pixels-30000-squared-there.png", lambda: png(30_000, 30_000, pixels=bytes(30_001 * 30_000 // 9)), COMPLEX, heavy=True),
    trap("pixels-2-to-the-31.png", png(2**31 - 1, 2**31 - 1), COMPLEX, DAMAGED),
    trap("pixels-8000-squared.png", lambda: png(8_000, 8_000, pixels=bytes(8_001 * 8_000)), SOUND),
    trap("pixels-65000-squared.jpg", lambda: jpeg_of_size(65_000, 65_000), COMPLEX),
    trap("pixels-30000-squared.tif", tiff((256, 1, 30_000), (257, 1, 30_000), *SIZED[2:], (273, 1, 8), (279, 1, 9)), COMPLEX),
    trap("pixels-30000-squared.bmp", bmp(30_000, 30_000), COMPLEX),
    trap("height-negative.bmp", bmp(30_000, -30_000), COMPLEX),
    trap("no-pixels.bmp", bmp(0, 0), DAMAGED),
    trap("text-bomb.png", lambda: png(9, 9, chunk(b"zTXt", b"k\0\0" + zlib.compress(bytes(300 * MB))), pixels=bytes(90)), DAMAGED, SMALL, heavy=True),
    trap("profile-bomb.png", lambda: png(9, 9, chunk(b"iCCP", b"k\0\0" + zlib.compress(bytes(100 * MB))), pixels=bytes(90)), DAMAGED, SMALL, heavy=True),
    trap("checksum-lies.png", make_picture("seen").replace(b"IEND", b"IENX"), DAMAGED, SOUND),
    trap("cut.png", make_picture("seen")[:-400], DAMAGED),
    trap("cut.jpg", make_picture("seen", kind="JPEG")[:-4_000], DAMAGED),
    trap("cut.tif", WHOLE[:3_000], DAMAGED),
    trap("whole.tif", WHOLE, SOUND),
    trap("directory-loops.tif", tiff(*SIZED, (273, 1, 200), (279, 1, 10_000), after=8, more=bytes(20_000)), SOUND, DAMAGED, COMPLEX),
    trap("directory-beyond.tif", b"II*\0\xff\xff\xff\x7f" + bytes(99), DAMAGED),
    trap("entries-65535.tif", b"II*\0" + struct.pack("<IH", 8, 65_535) + bytes(12 * 65_535), DAMAGED),
    trap("pages-1500.tif", lambda: save_pages([Image.new("1", (8, 8))] * 1_500, "TIFF"), COMPLEX),
    trap("pages-900.tif", lambda: save_pages([Image.new("1", (8, 8))] * 900, "TIFF"), SMALL, heavy=True),
    trap("exif-noise.jpg", make_picture(kind="JPEG").replace(b"\xff\xdb", b"\xff\xe1\x00\x20Exif\0\0II*\0\xff\xff\xff\xff" + bytes(16) + b"\xff\xdb", 1), SOUND, DAMAGED),
    trap("scans-of-nothing.jpg", b"\xff\xd8\xff" + b"\xff\xda\x00\x02" * 100_000, DAMAGED),
    trap("noise.png", lambda: b"\x89PNG\r\n\x1a\n" + random.Random(15).randbytes(50_000), DAMAGED),
    trap("noise.jpg", lambda: b"\xff\xd8\xff" + random.Random(16).randbytes(50_000), DAMAGED),
    trap("noise.tif", lambda: b"MM\0*" + random.Random(17).randbytes(50_000), DAMAGED),
    trap("noise.bmp", lambda: b"BM" + random.Random(18).randbytes(50_000), DAMAGED),
    trap("picture-then-zip.png", make_picture("seen") + make_zip({"a.txt": b"x"}), SOUND),
    trap("picture-then-pdf.png", make_picture("seen") + pdf(text("seen")), SOUND),
    trap("picture-then-page.jpg", make_picture("seen", kind="JPEG") + b"<script>alert(1)</script>", SOUND),
    trap("postscript.jpg", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", MISMATCH),
    trap("animation.png", b"GIF89a" + bytes(99), MISMATCH),
    trap("photograph.png", make_picture(kind="JPEG"), SOUND),
    trap("drawing.png", b"<svg onload=\"alert(1)\"/>", MISMATCH),
    trap("pictures-alone.zip", make_zip({"a.png": make_picture("seen")}), TEXT),
)  # fmt: skip
PICTURE_ENDINGS = ("png", "jpg", "tif", "bmp")
