"""Sealing of cached values: a value is accepted only under its key, with a valid signature, before it expires."""

import hmac
import struct
import time
from collections.abc import Callable
from hashlib import sha256

SEAL = struct.Struct(">32sdd")  # signature of key, times and value; time of writing; time to live in seconds


def steady_clock() -> Callable[[], float]:
    """Create a clock of seconds since 1970 that never goes back: it reads the system clock once, then counts on."""
    offset = time.time() - time.monotonic()
    return lambda: offset + time.monotonic()


def sealed(key: str, value: bytes, *, now: float, ttl_s: float, secret: bytes) -> bytes:
    """Return the value behind its header: a signature, the time of writing and the time to live."""
    return SEAL.pack(_mark(key, now, ttl_s, value, secret), now, ttl_s) + value


def unsealed(key: str, kept: object, *, now: float, secret: bytes) -> bytes | None:
    """Return the value; None when the signature or the key is wrong, or the value expired or is from the future."""
    if not isinstance(kept, bytes) or len(kept) < SEAL.size:
        return None
    signature, written_at, ttl_s = SEAL.unpack_from(kept)
    value = kept[SEAL.size :]
    is_valid = hmac.compare_digest(signature, _mark(key, written_at, ttl_s, value, secret))
    return value if is_valid and written_at <= now < written_at + ttl_s else None


def _mark(key: str, written: float, ttl_s: float, value: bytes, secret: bytes) -> bytes:
    signed = (sha256(key.encode()).digest(), struct.pack(">dd", written, ttl_s), value)
    return hmac.digest(secret, b"".join(signed), "sha256")
