"""What a cache keeps, so that only what was written under a key, by who knows the secret, in time, comes back."""

import hmac
import struct
import time
from collections.abc import Callable
from hashlib import sha256

SEAL = struct.Struct(">32sdd")  # of the key, the times and the value; when written; for how many seconds


def steady_clock() -> Callable[[], float]:
    """Seconds since 1970 that only go forward: the machine's clock is read once, and may then be set at will."""
    began = time.time() - time.monotonic()
    return lambda: began + time.monotonic()


def sealed(key: str, value: bytes, *, now: float, ttl_s: float, secret: bytes) -> bytes:
    return SEAL.pack(_mark(key, now, ttl_s, value, secret), now, ttl_s) + value


def unsealed(key: str, kept: object, *, now: float, secret: bytes) -> bytes | None:
    """The value, or None for what is not ours, of another key, out of date, or from a time to come."""
    if not isinstance(kept, bytes) or len(kept) < SEAL.size:
        return None
    mark, written, ttl_s = SEAL.unpack_from(kept)
    value = kept[SEAL.size :]
    ours = hmac.compare_digest(mark, _mark(key, written, ttl_s, value, secret))
    return value if ours and written <= now < written + ttl_s else None


def _mark(key: str, written: float, ttl_s: float, value: bytes, secret: bytes) -> bytes:
    parts = (sha256(key.encode()).digest(), struct.pack(">dd", written, ttl_s), value)
    return hmac.digest(secret, b"".join(parts), "sha256")
