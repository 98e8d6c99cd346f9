"""Sealing of cached values: a value is accepted only under its key, with a valid signature, before it expires."""

import hmac
import struct
import time
from collections.abc import Callable
from hashlib import sha256

MAX_VALUE_BYTES = 1024**2  # a larger value is not cached
SEAL_HEADER = struct.Struct(">32sdd")  # signature of key, times and value; time of writing; time to live in seconds


def make_steady_clock() -> Callable[[], float]:
    """Create a clock of seconds since 1970 that never goes back: it reads the system clock once, then counts on."""
    offset = time.time() - time.monotonic()
    return lambda: offset + time.monotonic()


def seal_value(key: str, value: bytes, *, now: float, ttl_s: float, secret: bytes) -> bytes:
    """Return the value behind its header: a signature, the time of writing and the time to live."""
    return SEAL_HEADER.pack(_sign_cache_entry(key, now, ttl_s, value, secret), now, ttl_s) + value


def unseal_value(key: str, sealed_value: object, *, now: float, secret: bytes) -> bytes | None:
    """Return the value; None when the signature or the key is wrong, or the value expired or is from the future."""
    if not isinstance(sealed_value, bytes) or len(sealed_value) < SEAL_HEADER.size:
        return None
    signature, written_at, ttl_s = SEAL_HEADER.unpack_from(sealed_value)
    value = sealed_value[SEAL_HEADER.size :]
    is_valid = hmac.compare_digest(signature, _sign_cache_entry(key, written_at, ttl_s, value, secret))
    return value if is_valid and written_at <= now < written_at + ttl_s else None


def _sign_cache_entry(key: str, written_at: float, ttl_s: float, value: bytes, secret: bytes) -> bytes:
    signed = (sha256(key.encode()).digest(), struct.pack(">dd", written_at, ttl_s), value)
    return hmac.digest(secret, b"".join(signed), "sha256")
