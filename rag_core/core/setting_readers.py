"""Readers of settings: the text of a variable becomes a value, or Misconfigured is raised, which names the variable."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from rag_core.core.errors import Misconfigured

T = TypeVar("T")
SettingReader = Callable[[str, str], T]  # of the variable's name and its text, which is not empty
LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")


def read_text(name: str, text: str) -> str:
    """Return the text as it is."""
    return text


def read_path(name: str, text: str) -> Path:
    """Return the path of a file or folder."""
    return Path(text)


def read_data_dir(name: str, text: str) -> Path | None:
    """Return the folder of the data, None for ":memory:"."""
    return None if text == ":memory:" else Path(text)


def make_number_reader(low: float, high: float) -> SettingReader[float]:
    """Return a reader of numbers from `low` to `high`."""

    def read_number(name: str, text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = float("nan")
        if not low <= number <= high:
            raise Misconfigured(f"{name} must be a number from {low:g} to {high:g}", field=name)
        return number

    return read_number


def make_integer_reader(low: float, high: float) -> SettingReader[int]:
    """Return a reader of numbers from `low` to `high`, of which the fraction is cut off."""
    read_number = make_number_reader(low, high)
    return lambda name, text: int(read_number(name, text))


def make_choice_reader(*choices: str) -> SettingReader[str]:
    """Return a reader of one of the choices, in lower case."""

    def read_choice(name: str, text: str) -> str:
        choice = text.lower()
        if choice not in choices:
            raise Misconfigured(f"{name} must be one of {', '.join(choices)}", field=name)
        return choice

    return read_choice


def make_flag_reader(*choices: str, true: str = "1") -> SettingReader[bool]:
    """Return a reader of one of the choices, which is whether it is the one that stands for true."""
    read_choice = make_choice_reader(*choices)
    return lambda name, text: read_choice(name, text) == true


def read_upper_case_words(name: str, text: str) -> tuple[str, ...]:
    """Return the words of a list, in upper case; commas and spaces part them."""
    return tuple(text.upper().replace(",", " ").split())


def read_ocr_languages(name: str, text: str) -> str:
    """Return languages of tesseract joined by "+", such as "eng+deu"; "" for "off"."""
    if not re.fullmatch(r"\w{2,32}(?:\+\w{2,32})*", text, re.ASCII):
        raise Misconfigured(f"{name} must be off, or languages of tesseract such as eng+deu", field=name)
    return "" if text.lower() == "off" else text


def read_preview_version(name: str, text: str) -> str:
    """Return a version of a preview of Azure AI Search's API."""
    if not re.fullmatch(r"20\d\d-\d\d-\d\d-preview", text.lower()):
        raise Misconfigured(f"{name} must be a version such as 2026-08-01-preview", field=name)
    return text.lower()


def read_index_name(name: str, text: str) -> str:
    """Return the name of an Azure AI Search index."""
    if not re.fullmatch(r"[a-z0-9](?:-?[a-z0-9]){1,127}", text):  # the rule of Azure AI Search
        raise Misconfigured(f"{name} must be 2 to 128 lower-case letters, digits and single dashes", field=name)
    return text


def read_collection_name(name: str, text: str) -> str:
    """Return the name of a collection of proposals."""
    if not re.fullmatch(r"[A-Za-z0-9._:-]{1,128}", text):
        raise Misconfigured(f"{name} must be 1 to 128 of A-Z a-z 0-9 . _ : -", field=name)
    return text


def read_service_url(name: str, text: str) -> str:
    """Return a URL to which a key may be sent: https, or http to this machine."""
    host, secure = _split_host(text)
    if not host or not (secure or host in LOOPBACK_HOSTS):
        raise Misconfigured(f"{name} must be an https:// address (http:// only on this machine)", field=name)
    return text.rstrip("/")


def read_ollama_url(name: str, text: str) -> str:
    """Return the URL of an Ollama server, which may be given as host:port.

    Ollama has no key, so http is allowed to any host.
    """
    url = text if "://" in text else f"http://{text}"
    if not _split_host(url)[0]:
        raise Misconfigured(f"{name} must be host:port or an http:// address", field=name)
    return url.rstrip("/")


def read_redis_url(name: str, text: str) -> str:
    """Return the URL of a Redis server to which secrets may be sent: by TLS, or on this machine."""
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise _make_redis_url_error(name) from None
    private = {"rediss": bool(host), "redis": host in LOOPBACK_HOSTS, "unix": parts.path.startswith("/") and not host}
    if not private.get(parts.scheme):
        raise _make_redis_url_error(name)
    return text


def read_database_url(name: str, text: str) -> str:
    """Return the URL of a PostgreSQL database, with the parameters of libpq, such as `sslmode`."""
    if not text.startswith(("postgresql://", "postgres://")):
        raise Misconfigured(f"{name} must be postgresql://USER:PASSWORD@HOST:PORT/DATABASE", field=name)
    return text


def _make_redis_url_error(name: str) -> Misconfigured:
    """Return the error for an invalid Redis URL."""
    return Misconfigured(
        f"{name} must be rediss://HOST:PORT, redis://HOST:PORT on this machine, or unix:///PATH", field=name
    )


def _split_host(address: str) -> tuple[str, bool]:
    """Return the host of an http(s) URL, "" for anything else, and whether the URL is https."""
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "", False
    extras = parts.username or parts.password or parts.query or parts.fragment
    return (host or "" if parts.scheme in ("http", "https") and not extras else ""), parts.scheme == "https"
