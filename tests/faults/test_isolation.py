"""Random callers do everything that can be done over HTTP; a model of a few lines says what each may see."""

import asyncio
import base64
import itertools
import json
from collections import Counter
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from werkzeug.test import Client

import function_app
from local_emulator.host import Host
from local_emulator.search_service import SearchService, run_search_service
from rag_core.core.index import Index
from rag_core.core.model import Scope
from rag_core.core.ports import ChunkStore
from rag_core.core.settings import Settings
from rag_core.stores.archive import ArchiveDatabase, SqlArchive
from rag_core.stores.azure_search import AzureSearchStore
from rag_core.stores.embedded import EmbeddedStore
from tests.evaluation.test_isolation_audit import Forgetful
from tests.fakes import ConceptEmbedder, kit
from tests.stores.sample import chunk
from tests.varying_fields import drop_varying_fields

T = TypeVar("T")

CALLERS = (  # three tenants; in one of them two users, one without a name, and an administrator
    Scope("north"),
    Scope("south"),
    Scope("east"),
    Scope("east", "ann", ("staff",)),
    Scope("east", "bob", ("ann", "user:ann", "*")),
    Scope("north", "ann"),
    Scope("east", "root"),
)
ADMINISTRATORS = ("root",)
NAMES = ("d1", "d2", "d3")
QUESTION = "Which brake valve opens at what pressure?"
SETTINGS = Settings(data_dir=None, trust_principal=True)
callers, names = st.sampled_from(CALLERS), st.sampled_from(NAMES)


@dataclass(frozen=True)
class Kept:
    """A document of the model: whose it is, the word that stands nowhere else, and whether it is deleted."""

    owner: str | None
    word: str
    live: bool = True


class Served:
    """The functions over a store, with the platform's credential as the only say in who asks."""

    def __init__(self) -> None:
        archive = SqlArchive(ArchiveDatabase(None))
        self.kit = replace(kit(Index(EmbeddedStore(None), ConceptEmbedder())), archive=archive)
        self.host = Host(function_app.build_app(lambda: SETTINGS, lambda: self.kit))
        self.client = Client(self.host)

    def over(self, store: ChunkStore) -> None:
        """And over an archive of its own: what an earlier walk kept is not this one's."""
        self.run(self.kit.archive.close())
        index, archive = Index(store, ConceptEmbedder()), SqlArchive(ArchiveDatabase(None))
        self.kit = replace(self.kit, index=index, archive=archive)

    def call(self, caller: Scope, function: str, **fields: Any) -> tuple[int, str]:
        route = f"/api/{function}"
        body = {"workflow_id": caller.workflow_id, **fields}
        reply = self.client.post(route, json=body, headers=credential(caller))
        return reply.status_code, reply.get_data(as_text=True)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """In the loop of the host, which the clients of a store belong to."""
        return asyncio.run_coroutine_threadsafe(work, self.host._loop).result()


def credential(caller: Scope) -> dict[str, str]:
    if caller.user_id is None:
        return {}
    claims = [("oid", caller.user_id), *(("groups", group) for group in caller.groups)]
    claims += [("roles", "admin")] if caller.user_id in ADMINISTRATORS else []
    told = json.dumps({"claims": [{"typ": kind, "val": value} for kind, value in claims]})
    return {"x-ms-client-principal": base64.b64encode(told.encode()).decode()}


def code(word: str) -> str:
    """An entity that stands in one document only."""
    return f"P{int(word[2:]):04}"


class Tenants(RuleBasedStateMachine):
    """What is asked of the functions, beside the model of what may be answered."""

    served: Served
    make = staticmethod(lambda: EmbeddedStore(None))
    done: Counter[str]

    def __init__(self) -> None:
        super().__init__()
        self.store = self.make()
        self.served.over(self.store)
        self.kept: dict[tuple[str, str], Kept] = {}
        self.words = (f"zq{number}" for number in itertools.count(1))
        self.written: list[str] = []

    def teardown(self) -> None:
        self.served.run(self.store.close())

    # what the model says

    def may_see(self, caller: Scope, *, live: bool = True) -> set[str]:
        return {
            kept.word
            for (workflow, _), kept in self.kept.items()
            if workflow == caller.workflow_id and kept.owner in (None, caller.user_id) and kept.live == live
        }

    def mine(self, caller: Scope, name: str) -> Kept | None:
        kept = self.kept.get((caller.workflow_id, name))
        return kept if kept and kept.owner == caller.user_id else None

    def changeable(self, caller: Scope, name: str) -> Kept | None:
        """What a caller may delete and restore: an administrator also what nobody owns."""
        kept = self.kept.get((caller.workflow_id, name))
        owners = (caller.user_id, None) if caller.user_id in ADMINISTRATORS else (caller.user_id,)
        return kept if kept and kept.owner in owners else None

    def readable(self, caller: Scope, name: str) -> Kept | None:
        kept = self.kept.get((caller.workflow_id, name))
        return kept if kept and kept.owner in (None, caller.user_id) else None

    def check(self, caller: Scope, said: str, *, live: bool = True) -> set[str]:
        """The words in what was said, each of which the caller may see."""
        seen = {word for word in self.written if f"{word}x" in said.lower() or code(word) in said}
        assert seen <= self.may_see(caller, live=live), (caller, said)
        return seen

    def call(self, caller: Scope, function: str, **fields: Any) -> tuple[int, str]:
        self.done[function] += 1
        status, said = self.served.call(caller, function, **fields)
        assert status in (200, 400, 404, 409), said
        return status, said

    # what is done

    @initialize()
    def begin(self) -> None:
        """Everybody has something from the beginning, and two have the same name for it."""
        for caller, name in zip(CALLERS, ("d1", "d1", "d1", "d2", "d3", "d2", "d1"), strict=True):
            self.index(caller, name)

    @rule(caller=callers, name=names)
    def index(self, caller: Scope, name: str) -> None:
        word, at = next(self.words), (caller.workflow_id, name)
        text = f"The brake valve of {word}x opens at 7 bar. {code(word)} stands beside P9999."
        fields = {"title": f"Valve {word}x", "source": f"{word}x.txt", "metadata": {"word": f"{word}x"}}
        self.written.append(word)
        status, said = self.call(caller, "index_document", document_id=name, content=text, **fields)
        taken = at in self.kept and self.mine(caller, name) is None
        assert status == (404 if taken else 200), said
        if not taken:
            self.kept[at] = Kept(caller.user_id, word)
        self.check(caller, said)

    @rule(caller=callers, name=names, purge=st.booleans())
    def delete(self, caller: Scope, name: str, purge: bool) -> None:
        status, said = self.call(caller, "delete_document", document_id=name, purge=purge)
        kept = self.changeable(caller, name)
        assert status == (200 if kept and (kept.live or purge) else 404)
        if status == 200 and kept:
            del self.kept[caller.workflow_id, name]
            if not purge:
                self.kept[caller.workflow_id, name] = replace(kept, live=False)
        self.check(caller, said)

    @rule(caller=callers, name=names)
    def restore(self, caller: Scope, name: str) -> None:
        status, said = self.call(caller, "restore_document", document_id=name)
        kept = self.changeable(caller, name)
        assert status == ((409 if kept.live else 200) if kept else 404)
        if status == 200 and kept:
            self.kept[caller.workflow_id, name] = replace(kept, live=True)
        self.check(caller, said)

    @rule(caller=callers, how=st.sampled_from(["keyword", "vector", "hybrid", "semantic"]))
    def search(self, caller: Scope, how: str) -> None:
        """The whole of what may be seen comes back: who is blind leaks nothing."""
        _, said = self.call(caller, "consult_rag", query=QUESTION, pipeline="standard", search_type=how)
        assert self.check(caller, said) == self.may_see(caller)

    @rule(caller=callers, pipeline=st.sampled_from(["rerank", "advanced"]))
    def consult(self, caller: Scope, pipeline: str) -> None:
        _, said = self.call(caller, "consult_rag", query=QUESTION, pipeline=pipeline, facets=["title"])
        self.check(caller, said)

    @rule(caller=callers, field=st.sampled_from(["entity_codes", "dtc", "title", "source", "metadata.word"]))
    def facets(self, caller: Scope, field: str) -> None:
        query = f"How many {field}?"
        status, said = self.call(caller, "consult_rag", query=query, pipeline="facets", facets=[field])
        seen = self.check(caller, said)
        assert status != 200 or seen == self.may_see(caller)

    @rule(caller=callers, data=st.data())
    def filter(self, caller: Scope, data: st.DataObject) -> None:
        """By what stands in anybody's document."""
        word = data.draw(st.sampled_from(self.written or ["zq0"]))
        filters = data.draw(
            st.sampled_from([{"metadata.word": f"{word}x"}, {"entity_codes": code(word)}, {"document_id": list(NAMES)}])
        )
        _, said = self.call(caller, "consult_rag", query=QUESTION, filters=filters, search_type="keyword")
        self.check(caller, said)

    @rule(caller=callers, named=st.booleans())
    def ask(self, caller: Scope, named: bool) -> None:
        only = {"document_ids": list(NAMES)} if named else {}
        _, said = self.call(caller, "rag/ask", query=QUESTION, pipeline="standard", **only)
        self.check(caller, said)

    @rule(caller=callers, name=names)
    def summary(self, caller: Scope, name: str) -> None:
        status, said = self.call(caller, "get_document_summary", document_id=name)
        shown = self.readable(caller, name)
        assert (status == 200) == bool(shown and shown.live)
        self.check(caller, said)

    @rule(caller=callers, name=names)
    def source(self, caller: Scope, name: str) -> None:
        """The lines as they came, of the version that is there; and the whole of what may be seen is listed."""
        status, said = self.call(caller, "document", document_id=name)
        shown = self.readable(caller, name)
        assert (status == 200) == bool(shown and shown.live)
        seen = self.check(caller, said)
        if status == 200 and shown:
            assert seen == {shown.word}
            assert f"{shown.word}x opens" in json.loads(said)["lines"][0]
        reply = self.call(caller, "document_page", document_id=name, page=1)
        assert (reply[0], "page_not_found" in reply[1]) == (404, status == 200)
        status, said = self.call(caller, "document_original", document_id=name)
        assert (status == 200) == bool(shown and shown.live)
        if status == 200 and shown:
            assert f"{shown.word}x opens".encode() in base64.b64decode(json.loads(said)["content_base64"])
        listed = json.loads(self.call(caller, "documents")[1])
        assert self.check(caller, json.dumps(listed["documents"])) == self.may_see(caller)
        can_come_back = {kept.word for one in NAMES if (kept := self.changeable(caller, one)) and not kept.live}
        assert self.check(caller, json.dumps(listed["deleted"]), live=False) == can_come_back
        assert all(document["kept"] for document in listed["documents"])

    @rule(caller=callers, named=st.booleans())
    def citations(self, caller: Scope, named: bool) -> None:
        only = {"document_ids": list(NAMES)} if named else {}
        _, said = self.call(caller, "extract_citations", text="The brake valve opens at 7 bar.", **only)
        self.check(caller, said)

    @rule(caller=callers, data=st.data())
    def graph(self, caller: Scope, data: st.DataObject) -> None:
        word = data.draw(st.sampled_from(self.written or ["zq0"]))
        status, said = self.call(caller, "graph_query", operation="neighbors", entity=code(word))
        assert (status == 200) == (word in self.may_see(caller))
        self.check(caller, said)
        _, said = self.call(caller, "graph_query", operation="top")
        self.check(caller, said)

    @rule(caller=callers, name=names)
    def read(self, caller: Scope, name: str) -> None:
        """What no function gives, straight from the store."""
        self.done["read"] += 1
        store, beside = self.store, chunk(name, 1, "")
        self.check(caller, repr(self.served.run(store.load_neighbours(beside, caller, before=9, after=9))))
        for work in (store.list_documents(caller), store.select(caller, limit=50)):
            assert self.check(caller, repr(self.served.run(work))) == self.may_see(caller)
        gone = repr(self.served.run(store.list_deleted(caller)))
        assert self.check(caller, gone, live=False) == self.may_see(caller, live=False)
        shown = self.readable(caller, name)
        assert bool(self.served.run(store.load_vectors(name, caller))) == bool(shown and shown.live)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    made = Served()
    yield made
    made.host.close()


def walk(served: Served, examples: int, steps: int = 50, **attributes: Any) -> Counter[str]:
    """Do so many walks of so many steps, the same at every run; what was done."""
    counted: Counter[str] = Counter()
    machine = type("Walk", (Tenants,), {"served": served, "done": counted, **attributes})
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=chosen)
    return counted


def test_in_two_thousand_operations_nobody_sees_what_is_not_theirs(served: Served) -> None:
    """S1-25, S3-15, S3-16, C17, (RELIABILITY C13), (RELIABILITY C14), (RELIABILITY C17), (RELIABILITY C21)."""
    done = walk(served, 45)
    print(done)
    assert done.total() >= 2_000
    assert min(done.values()) >= 20


@pytest.mark.parametrize("method", ["search", "list_deleted", "delete"])
def test_a_planted_leak_is_found(served: Served, method: str) -> None:
    with pytest.raises(AssertionError):
        walk(served, 45, make=staticmethod(lambda: Forgetful(EmbeddedStore(None), method)))


def replies(served: Served, caller: Scope) -> list[Any]:
    """All that a caller is told, but for what is new in every reply: its id and how long things took."""
    told = [
        *(served.call(caller, "consult_rag", query=QUESTION, pipeline=p)[1] for p in ("standard", "advanced")),
        served.call(caller, "consult_rag", query="Which titles?", pipeline="facets", facets=["title", "dtc"])[1],
        served.call(caller, "rag/ask", query=QUESTION, pipeline="standard")[1],
        served.call(caller, "extract_citations", text="The brake valve opens at 7 bar.")[1],
        served.call(caller, "get_document_summary", document_id="mine1")[1],
        served.call(caller, "graph_query", operation="top")[1],
    ]
    return [drop_varying_fields(json.loads(one)) for one in told]


def metamorphic(served: Served, trials: int) -> None:
    """Another tenant indexes, deletes, restores and purges at random; what one is told never moves by a byte."""
    served.over(EmbeddedStore(None))
    draw, mine, other = Random(18), Scope("north"), Scope("south")
    for number in range(4):
        text = f"The brake valve {number} of the gearbox opens at {number} bar. P000{number} stands beside P0700."
        served.call(mine, "index_document", document_id=f"mine{number}", content=text)
    before = replies(served, mine)
    for _ in range(trials):
        name = draw.choice(("mine1", "theirs1", "theirs2", "theirs3"))
        change = draw.choice(("index_document", "index_document", "delete_document", "restore_document"))
        text = " ".join(draw.choices([*QUESTION.split(), "P0700", "P0001", "bar", "noise"], k=30))
        more = {"index_document": {"content": text}, "delete_document": {"purge": draw.random() < 0.5}}
        served.call(other, change, document_id=name, **more.get(change, {}))
        assert replies(served, mine) == before


def test_what_one_tenant_writes_never_moves_a_byte_of_what_another_is_told(served: Served) -> None:
    """(RELIABILITY C18), (RELIABILITY C19), F13: no score, count, cache or order is shared between workflows."""
    metamorphic(served, 60)


@pytest.mark.soak
def test_no_byte_moves_in_a_thousand_trials(served: Served) -> None:
    """G9."""
    metamorphic(served, 1_000)


@pytest.mark.soak
def test_in_ten_thousand_operations_nobody_sees_what_is_not_theirs(served: Served) -> None:
    """G9."""
    done = walk(served, 210)
    print(done)
    assert done.total() >= 10_000


@pytest.mark.soak
def test_in_ten_thousand_operations_on_azure_nobody_sees_what_is_not_theirs(served: Served) -> None:
    """G9, over the emulated search service, by the real client."""
    with run_search_service(SearchService(None, keys={"key"})) as url:
        numbers = itertools.count()

        def make() -> AzureSearchStore:
            store = AzureSearchStore(url, "key", f"walk-{next(numbers)}", dimensions=5)
            served.run(store.setup())
            return store

        done = walk(served, 120, steps=100, make=staticmethod(make))  # a service has 200 indexes at most
    print(done)
    assert done.total() >= 10_000
