"""The certificate authorities that a process trusts, loaded once: 20 ms of CPU for each client that loads its own."""

import ssl
from functools import cache

import httpx2


@cache
def load_trusted_certificates() -> ssl.SSLContext:
    """Return what every HTTP client of ours takes as `verify`: the system's certificates, or those of SSL_CERT_FILE."""
    return httpx2.create_ssl_context()
