"""Fetching of named entailment models for `rag models fetch`; nothing else downloads, and nothing at run time."""

import hashlib
import http.client
import re
import shutil
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from rag_core.core.errors import Conflict, InvalidRequest, Misconfigured, StorageFull, Unavailable
from rag_core.providers.entailment_folder import ENTAILMENT_FOLDER, read_entailment_folder

READ_TIMEOUT_S = 60.0  # without a byte
MAX_FILE_BYTES = 4 * 1024**3  # ten times the largest of the named models
CHUNK_BYTES = 1024**2


@dataclass(frozen=True, slots=True)
class DownloadableFile:
    """A file of a published model: its path there, its name here, and its SHA-256, "" where that is not known."""

    path: str
    name: str
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class DownloadableModel:
    """A published entailment model: the page and commit that it is read from, its licence, and its files."""

    name: str
    page: str
    revision: str
    licence: str
    files: tuple[DownloadableFile, ...]


def _describe_model(name: str, revision: str, model_path: str, *, sha256: str = "") -> DownloadableModel:
    """Return a model of the hub's organisation "cross-encoder", with the files that all of them have."""
    tokenizer, config = (
        DownloadableFile("tokenizer.json", "tokenizer.json"),
        DownloadableFile("config.json", "config.json"),
    )
    files = (DownloadableFile(model_path, "model.onnx", sha256), tokenizer, config)
    return DownloadableModel(name, f"https://huggingface.co/cross-encoder/{name}", revision, "Apache-2.0", files)


# Hashes stand here only where the page of that commit shows them, which it does for files in large-file storage. The
# others are given with --sha256 by whoever has looked at the files.
DOWNLOADABLE_MODELS: Mapping[str, DownloadableModel] = {
    model.name: model
    for model in (
        _describe_model(
            "nli-MiniLM2-L6-H768", "b95119ce93d3e065de6214e38cd4a97b0f2f2c6d", "onnx/model_quint8_avx2.onnx"
        ),
        _describe_model("nli-deberta-v3-xsmall", "main", "onnx/model_quint8_avx2.onnx"),
        _describe_model(
            "nli-deberta-v3-small",
            "adac6298cb63d94d2f40cf54c4285671eb787c11",
            "onnx/model_O1.onnx",
            sha256="2755d9ae55f81d9a90526b767e6eff59019460f295da861777d67a9da5d5cad8",
        ),
    )
}


def choose_download(name: str, hashes: Sequence[str]) -> DownloadableModel:
    """Return the named model with a hash for each file: the known ones, and those given as FILE=SHA256.

    Raises:
        InvalidRequest: there is no such model, a hash is not of this form or contradicts the known one, or one is
            missing.
    """
    if name not in DOWNLOADABLE_MODELS:
        raise InvalidRequest("NAME", f"must be one of {', '.join(DOWNLOADABLE_MODELS)}")
    model = DOWNLOADABLE_MODELS[name]
    given = dict(_parse_hash(text, model) for text in hashes)
    files = tuple(replace(file, sha256=file.sha256 or given.get(file.name, "")) for file in model.files)
    if unpinned := [file.name for file in files if not file.sha256]:
        raise InvalidRequest(
            "--sha256",
            f"is required for {', '.join(unpinned)}, whose hashes are not known here: look at the files of "
            f"{model.page}/tree/{model.revision} and give the SHA-256 of each, as --sha256 {unpinned[0]}=…",
        )
    return replace(model, files=files)


def fetch_model(model: DownloadableModel, models_dir: Path, base_url: str = "") -> Path:
    """Fetch the files of a model into the folder `entailment` below a folder; nothing is kept unless all match.

    Args:
        base_url: where the files are, if not at the model's page.

    Raises:
        Conflict: the folder exists.
        Misconfigured: a file has another hash, or the files are not those of an entailment model.
        Unavailable: a file could not be fetched.
        StorageFull: a file could not be written.
    """
    target = models_dir / ENTAILMENT_FOLDER
    if target.exists():
        raise Conflict(f"{target} exists: move it away first, for a model is one whole folder")
    base_url = base_url or f"{model.page}/resolve/{model.revision}"
    try:
        models_dir.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetching-", dir=models_dir) as name:
            folder = Path(name) / ENTAILMENT_FOLDER
            folder.mkdir()
            for file in model.files:
                _fetch_file(f"{base_url}/{file.path}", folder / file.name, file.sha256)
            read_entailment_folder(folder)
            shutil.move(folder, target)
    except OSError as error:
        raise StorageFull(f"{models_dir} cannot be written to: {error.strerror or type(error).__name__}") from error
    return target


def find_licence(sha256: str) -> str:
    """Return the licence of the named model whose ONNX file has this hash; "" for any other."""
    return next(
        (model.licence for model in DOWNLOADABLE_MODELS.values() for file in model.files if file.sha256 == sha256), ""
    )


def _parse_hash(text: str, model: DownloadableModel) -> tuple[str, str]:
    """Return the file and hash of a FILE=SHA256 that is one of the model's files and does not contradict it."""
    name, _, sha256 = text.partition("=")
    known = {file.name: file.sha256 for file in model.files}
    if name not in known or not re.fullmatch(r"[0-9a-fA-F]{64}", sha256):
        raise InvalidRequest(
            "--sha256", f"must be FILE=SHA256 with 64 hexadecimal digits, FILE one of {', '.join(known)}"
        )
    if known[name] not in ("", sha256.lower()):
        raise InvalidRequest("--sha256", f"of {name} is not the known one, {known[name]}")
    return name, sha256.lower()


def _fetch_file(url: str, path: Path, sha256: str) -> None:
    """Write a file as it is read from an address. Raises Misconfigured when its hash is another."""
    digest = hashlib.sha256()
    with path.open("wb") as file:
        for chunk in _read_chunks(url):
            digest.update(chunk)
            file.write(chunk)
    if digest.hexdigest() != sha256:
        raise Misconfigured(
            f"{path.name} at {urlsplit(url).netloc} has the SHA-256 {digest.hexdigest()}, not the pinned {sha256}: "
            "nothing was kept",
            code="model_changed",
        )


def _read_chunks(url: str) -> Iterator[bytes]:
    """Yield the bytes at an address of https, or http on this machine. Raises Unavailable."""
    host, total = urlsplit(url).netloc, 0
    try:
        with urllib.request.urlopen(url, timeout=READ_TIMEOUT_S) as reply:  # noqa: S310 - the schemes were checked
            while chunk := reply.read(CHUNK_BYTES):
                total += len(chunk)
                if total > MAX_FILE_BYTES:
                    raise Unavailable(f"a file at {host} is larger than {MAX_FILE_BYTES} bytes")
                yield chunk
    except urllib.error.HTTPError as error:
        raise Unavailable(f"{host} answered {error.code} for {urlsplit(url).path}") from error
    except (OSError, http.client.HTTPException) as error:
        raise Unavailable(f"{host} could not be read: {type(error).__name__}") from error
