"""What the service holds between requests, and what one request is handled with."""

import threading
from dataclasses import dataclass, field
from typing import Any

from werkzeug.wrappers import Request

from .documents import EmulatedIndex
from .faults import Faults
from .refusals import make_missing_index_refusal
from .resources import ResourceStore
from .rewriting import Rewriter
from .semantic import Ranker
from .storage import Storage
from .synonyms import SynonymMaps

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """A call is one request and the api-version that it was made in."""

    request: Request
    version: str

    @property
    def model_version(self) -> str:
        """The version as the service writes it into the names of its models: V2025_11_01_Preview."""
        return "V" + self.version.replace("-", "_").replace("preview", "Preview")


@dataclass
class ServiceState:
    """The state of a service: whoever adds or removes an index or a resource holds `lock`."""

    storage: Storage
    resources: ResourceStore
    synonyms: SynonymMaps
    reranker: Ranker | None
    faults: Faults
    delay_s: float = 0.0
    rewriter: Rewriter | None = None
    indexes: dict[str, EmulatedIndex] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def find_index(self, name: str) -> EmulatedIndex:
        index = self.indexes.get(name)
        if index is None:
            raise make_missing_index_refusal(name)
        return index

    def find_aliased_index(self, name: str) -> EmulatedIndex:
        """Find an index by its name or by an alias: documents and definitions are reached by both."""
        alias = None if name in self.indexes else self.resources.get("aliases", name)
        return self.find_index(alias.definition["indexes"][0] if alias else name)
