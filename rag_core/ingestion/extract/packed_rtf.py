"""Unpacking of the rich text of a mail (MS-OXRTFCP): references into the last 4,096 bytes, or none packed at all."""

import struct

_KNOWN_START = (
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \\fdecor MS "
    b"Sans SerifSymbolArialTimes New Roman"
    b"Courier{\\colortbl\\red0\\green0\\blue0\r\n\\par \\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"
)  # to which the first references may point
_WINDOW = 4096
_HEADER_BYTES = 16


def unpack_rtf(packed: bytes) -> bytes:
    """Return the rich text that was packed. Raises ValueError or struct.error where it was not packed like this."""
    _, size, kind, _ = struct.unpack_from("<II4sI", packed)
    if kind == b"MELA":
        return packed[_HEADER_BYTES : _HEADER_BYTES + size]
    if kind != b"LZFu":
        raise ValueError("the rich text is packed in an unknown way")
    unpacked = bytearray(_KNOWN_START)
    at = _HEADER_BYTES
    while at < len(packed) and len(unpacked) < len(_KNOWN_START) + size:
        control, at = packed[at], at + 1
        for bit in range(8):
            if not control >> bit & 1:
                unpacked += packed[at : at + 1]
                at += 1
                continue
            if at + 2 > len(packed):
                break
            reference, at = struct.unpack_from(">H", packed, at)[0], at + 2
            if reference >> 4 == len(unpacked) % _WINDOW:  # to itself: the end
                return bytes(unpacked[len(_KNOWN_START) :])
            _copy(unpacked, reference >> 4, 2 + (reference & 15))
    return bytes(unpacked[len(_KNOWN_START) :])


def _copy(unpacked: bytearray, place: int, count: int) -> None:
    """Append bytes from a place in the window, which may be some of those that are being appended."""
    start = len(unpacked) - (len(unpacked) - place) % _WINDOW
    if start < 0:
        raise ValueError("the rich text refers to what stands before it")
    for number in range(start, start + count):
        unpacked.append(unpacked[number])
