"""The local models as tests use them: loaded once a process, and run once for each input.

They are the real ones: what is remembered is what the model returned for the very same tokens. Half of the time of a
test that indexes an example went into vectors which the test before it had computed (2026-11-24).
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

MAX_BYTES = 200 * 1024**2  # of outputs, in each process of tests


class RememberingSession:
    """A session of ONNX Runtime that gives a copy of what it returned before for the same input."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._lock = Lock()
        self._outputs: OrderedDict[tuple[bytes, ...], list[np.ndarray]] = OrderedDict()
        self._bytes = 0

    def run(self, names: None, feed: dict[str, np.ndarray]) -> list[np.ndarray]:
        key = tuple(part for name in sorted(feed) for part in (name.encode(), feed[name].tobytes()))
        with self._lock:
            outputs = self._outputs.get(key)
            if outputs is not None:
                self._outputs.move_to_end(key)
        if outputs is None:
            outputs = self._session.run(names, feed)
            self._keep(key, outputs)
        return [output.copy() for output in outputs]

    def _keep(self, key: tuple[bytes, ...], outputs: list[np.ndarray]) -> None:
        with self._lock:
            if key not in self._outputs:
                self._outputs[key] = outputs
                self._bytes += sum(output.nbytes for output in outputs)
            while self._bytes > MAX_BYTES:
                self._bytes -= sum(output.nbytes for output in self._outputs.popitem(last=False)[1])


def remember_models(load: Callable[[Path, Path | None], Any]) -> Callable[[Path, Path | None], Any]:
    """Return a `bert._load_bert` that opens the files of a folder once, and again when they were changed."""
    loaded: dict[tuple[object, ...], Any] = {}
    lock = Lock()

    def load_once(folder: Path, model_file: Path | None) -> Any:
        files = [file.resolve() for file in (model_file or folder / "model.onnx", folder / "tokenizer.json")]
        key = tuple((file, file.stat().st_mtime_ns, file.stat().st_size) for file in files)
        with lock:
            if key not in loaded:
                model = load(folder, model_file)
                loaded[key] = replace(model, session=RememberingSession(model.session))
            return loaded[key]

    return load_once
