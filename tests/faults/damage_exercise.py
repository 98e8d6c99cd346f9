"""A data folder is opened after a damage, used in every way, and its replies are compared with those before."""

import asyncio
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import azure.functions as func

from functions import http
from functions.operations import load_operation
from functions.routes import ROUTES
from rag_core.composition import assembly
from rag_core.core.errors import RagError
from rag_core.core.index import Index
from rag_core.core.kit import Kit
from rag_core.core.model import Scope
from rag_core.core.run import Run
from rag_core.core.settings import Settings
from rag_core.ingestion.originals import load_current_original
from rag_core.jobs import sqlite_jobs  # noqa: F401 - loaded before a child is forked, as is what the routes need
from rag_core.providers import embedded_cache  # noqa: F401
from rag_core.stores import archive, embedded  # noqa: F401
from tests.fakes import OverlapReranker, ScriptedLLM
from tests.faults import damages
from tests.faults.child_writer import LastStep

ROUTES_BY_NAME = {route.name: route for route in ROUTES}
for _route in ROUTES:
    load_operation(_route)
WORKFLOWS = ("garage", "depot")
STEP_LIMIT_S = 20.0
# what changes from call to call, or says how it went and not what was found
VARYING = ("run_id", "timings", "warnings", "degraded", "usage", "techniques", "kept", "updated_at")
SCORES = ("score", "signals")
CHANGES = ("index", "delete", "restored")
# a reply that differs must say so by one of these, and so must an error: they name a damage, or a part that is missing
DAMAGE_CODES = (
    "storage_damaged", "storage_unusable", "documents_damaged", "index_rebuilt", "index_earlier", "words_failed",
    "store_failed", "archive_unavailable", "archive_damaged", "jobs_unavailable", "storage_read_only", "disk_full",
    "index_in_memory", "archive_earlier",
)  # fmt: skip

Reply = tuple[int, Any, list[str]]  # status, what was found, the codes that it warns with


@dataclass
class Outcome:
    """What became of one damage: the verdicts of the steps, and what was wrong in words."""

    damage: str
    verdicts: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        order = ("WRONG", "named", "repaired", "harmless")
        return next(verdict for verdict in order if verdict in [*self.verdicts, "harmless"])


def build_kit(folder: Path, settings: Settings) -> Kit:
    """The kit of these settings, with small models that always answer alike."""
    kit = assembly.build_kit(settings)
    return replace(kit, index=Index(kit.index.store, LastStep()), reranker=OverlapReranker(), llm=ScriptedLLM())


def make_settings(folder: Path) -> Settings:
    return Settings(data_dir=folder, models_dir=folder.parent / "no-models", keep_runs=True)


class Service:
    """The app over one data folder, called by the functions that the Functions host calls."""

    def __init__(self, folder: Path) -> None:
        self.settings = make_settings(folder)
        self.made: list[Kit] = []

    def get_kit(self) -> Kit:
        if not self.made:
            self.made.append(build_kit(self.settings.data_dir or Path(), self.settings))
        return self.made[0]

    async def call(self, function: str, **fields: Any) -> Reply:
        """Call a function of the app. A reply without JSON or a failure that nobody caught has the status 0."""
        route = ROUTES_BY_NAME[function]
        method = route.methods[-1]
        params = {name: str(value) for name, value in fields.items()}
        in_path = {name: params[name] for name in fields if f"{{{name}}}" in route.path}
        request = func.HttpRequest(
            method=method,
            url=f"http://127.0.0.1/{route.path}",
            headers={"content-type": "application/json"},
            params=params if method == "GET" and not in_path else {},
            route_params=in_path,
            body=b"" if method == "GET" else json.dumps(fields).encode(),
        )
        handler = http.make_handler(route, http.Service(lambda: self.settings, self.get_kit))
        try:
            async with asyncio.timeout(STEP_LIMIT_S):
                reply = await handler(request)
            body = json.loads(reply.get_body())
        except BaseException as failure:  # a panic is no Exception
            return 0, f"{type(failure).__name__}: {failure}"[:200], []
        if reply.status_code >= 400:
            error = body["error"]
            warned = [said["code"] for said in error["details"].get("warnings", ())]
            return reply.status_code, error["message"], [error["code"], *warned]
        codes = [said["code"] for said in (*body.get("warnings", ()), *body.get("degraded", ()))]
        return reply.status_code, drop(VARYING, body), codes

    async def load_original(self, workflow: str, document_id: str) -> Reply:
        """Read what was uploaded, as the view of a page does."""
        run = Run()
        try:
            kit = self.get_kit()
            document = await run.step("document", kit.index.store.load_document(document_id, Scope(workflow)))
            original = await run.step("original", load_current_original(document, kit)) if document else None
            said = original and [original.filename, original.kind, original.data.hex()]
            return 200, said, [warning.code for warning in run.warnings]
        except RagError as error:
            return 503, error.message, [error.code]
        except BaseException as failure:
            return 0, f"{type(failure).__name__}: {failure}"[:200], []

    async def close(self) -> None:
        for kit in self.made:
            await kit.close()


def drop(names: Collection[str], value: Any) -> Any:
    """Return JSON without the fields of these names."""
    if isinstance(value, dict):
        return {key: drop(names, part) for key, part in value.items() if key not in names}
    return [drop(names, part) for part in value] if isinstance(value, list) else value


def text_of(number: int) -> str:
    """A document of a few short parts and, in one of three, one that is longer than a page of the database."""
    parts = [
        f"Part {n} of manual {number}: code P0{number}{n}0 with P0700 means valve{n} pump{number}." for n in range(6)
    ]
    rows = [f"Line {n}: the unit{number} has torque {n * 7} and pressure {n * 3}." for n in range(170)]
    return "\n\n".join(parts + ([" ".join(rows)] if number % 3 == 0 else []))


async def build(folder: Path, older: Path) -> None:
    """Write a data folder, with a copy of an earlier moment in `older`: documents, originals, runs, a deleted one."""
    service = Service(folder)
    for number in range(3):
        await index(service, "garage", number)
    await consult(service, "garage", "keyword")
    await service.close()
    shutil.copytree(folder, older)
    service = Service(folder)
    for number in range(3, 6):
        await index(service, "garage", number)
    for number in range(6, 8):
        await index(service, "depot", number)
    for workflow in WORKFLOWS:
        await consult(service, workflow, "hybrid")
    assert (await service.call("delete_document", document_id="doc5", workflow_id="garage"))[0] == 200
    await consult(service, "garage", "hybrid")
    await service.close()


async def index(service: Service, workflow: str, number: int) -> Reply:
    status, body, codes = await service.call(
        "index_document",
        content=text_of(number),
        document_id=f"doc{number}",
        title=f"Manual {number}",
        workflow_id=workflow,
        metadata={"year": 2000 + number},
    )
    return (200, "", codes) if status in (200, 207) else (status, body, codes)


async def consult(service: Service, workflow: str, legs: str, text: str = "P0700 pump3 torque valve2") -> Reply:
    return await service.call(
        "consult_rag", query=text, pipeline="standard", search_type=legs, workflow_id=workflow, top_k=5
    )


async def read_everything(service: Service) -> dict[str, Reply]:
    said: dict[str, Reply] = {"health": await service.call("health")}
    for legs in ("keyword", "vector", "hybrid"):
        said[f"search by {legs}"] = await consult(service, "garage", legs)
    said["search elsewhere"] = await consult(service, "depot", "hybrid")
    facets = ["entity_codes", "title", "metadata.year"]
    said["facets"] = await service.call(
        "consult_rag", query="how many codes", pipeline="facets", workflow_id="garage", facets=facets
    )
    said["filter"] = await service.call(
        "consult_rag", query="pump", pipeline="standard", workflow_id="garage", filters={"metadata.year": {"ge": 2001}}
    )
    said["graph"] = await service.call("graph_query", operation="top", workflow_id="garage")
    for workflow in WORKFLOWS:
        said[f"documents of {workflow}"] = await service.call("documents", workflow_id=workflow)
    for number in (0, 1, 3):
        said[f"original {number}"] = await service.load_original("garage", f"doc{number}")
    status, listed, codes = await service.call("list_queries", workflow_id="garage")
    said["runs"] = status, kept_runs(listed), codes
    said["a run"] = await service.call("get_query", id=2, workflow_id="garage")
    return said


def kept_runs(listed: Any) -> Any:
    """The runs that the folder was built with: the exercise adds others."""
    return [query for query in listed["queries"] if query["id"] <= 3] if isinstance(listed, dict) else listed


async def change(service: Service) -> tuple[dict[str, Reply], str]:
    """Index one more document and delete another; also return which of the two was acknowledged."""
    said = {"index": await index(service, "garage", 8)}
    said["delete"] = await service.call("delete_document", document_id="doc1", workflow_id="garage")
    done = "".join(name[0] for name, reply in said.items() if reply[0] in (200, 207))
    for legs in ("keyword", "vector", "hybrid"):
        status, body, codes = await consult(service, "garage", legs)
        found = sorted(document["id"] for document in body["documents"]) if isinstance(body, dict) else body
        said[f"after {legs}"] = status, found, codes
    status, body, codes = await service.call("documents", workflow_id="garage")
    said["after documents"] = (
        status,
        sorted(str(d) for d in body["documents"]) if isinstance(body, dict) else body,
        codes,
    )
    said["restored"] = await service.call("restore_document", document_id="doc5", workflow_id="garage")
    return said, done


async def exercise(folder: Path) -> tuple[dict[str, Reply], str]:
    """Use the folder, close it, and read it again: what the first use repaired must stay so."""
    service = Service(folder)
    first = await read_everything(service)
    changed, done = await change(service)
    await service.close()
    again = Service(folder)
    last = {f"opened again, {legs}": await consult(again, "depot", legs) for legs in ("keyword", "hybrid")}
    await again.close()
    return first | changed | last, done


Expected = Mapping[str, Mapping[str, Reply]]  # by which of "i"ndex and "d"elete was acknowledged


def judge(said: Mapping[str, Reply], expected: Mapping[str, Reply], outcome: Outcome) -> Outcome:
    rebuilt = False  # the lexical index without its deleted chunks has other BM25 statistics, and so other scores
    for step, (status, body, codes) in said.items():
        named = [code for code in codes if code in DAMAGE_CODES]
        rebuilt = rebuilt or "index_rebuilt" in codes or "index_in_memory" in codes
        without_scores = partial(drop, SCORES) if rebuilt else partial(drop, ())
        same = status == expected[step][0] and without_scores(body) == without_scores(expected[step][1])
        is_told = bool(named and status) and not find_altered_texts(body, expected)
        verdict = ("repaired" if named else "harmless") if same else ("named" if is_told else "WRONG")
        outcome.verdicts.append(verdict)
        if verdict == "WRONG":
            outcome.wrong.append(f"{step}: {status} {codes} {first_difference(body, expected[step][1])}")
    return outcome


def find_altered_texts(body: Any, expected: Mapping[str, Reply]) -> list[str]:
    """Return the ids of passages whose text is not what it was: a warning excuses what is missing, never that."""
    known = dict(iter_passages([body for _, body, _ in expected.values()]))
    return [id for id, content in iter_passages(body) if id in known and content != known[id]]


def iter_passages(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the id and the text of every passage anywhere in a reply."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if isinstance(value, dict) and "id" in value and "content" in value:
        yield value["id"], value["content"]
    for part in parts:
        yield from iter_passages(part)


def first_difference(found: Any, expected: Any) -> str:
    one, other = json.dumps(found, default=str), json.dumps(expected, default=str)
    at = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    return f"…{one[max(0, at - 40) : at + 60]}… for …{other[max(0, at - 40) : at + 60]}…"


def _exercise_child(folder: Path, damage: str, told: Connection) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what Rust and the log say
    damages.leave_root(damage)
    told.send(asyncio.run(exercise(folder)))


def run_child(context: Any, folder: Path, damage: str) -> tuple[dict[str, Reply], str] | str:
    """Exercise a folder in a process of its own, which a damage may end or hang; "" or words say how it ended."""
    told, tells = context.Pipe(duplex=False)
    child = context.Process(target=_exercise_child, args=(folder, damage, tells))
    child.start()
    tells.close()
    try:
        if not told.poll(3 * STEP_LIMIT_S):
            return "hangs"
        result: tuple[dict[str, Reply], str] = told.recv()
        return result
    except EOFError:
        child.join()
        return f"the process ended with {child.exitcode}"
    finally:
        child.kill()
        child.join()


class DamageBench:
    """A data folder that was built once, and the replies that its undamaged copies give."""

    def __init__(self, context: Any, root: Path) -> None:
        self.context, self.root = context, root
        self.folder, self.older = root / "data", root / "older"
        asyncio.run(build(self.folder, self.older))
        self.expected: dict[str, Mapping[str, Reply]] = {}
        for refused in ("", "i", "d", "id"):
            self.expected["".join(c for c in "id" if c not in refused)] = asyncio.run(self._expect(refused))

    async def _expect(self, refused: str) -> Mapping[str, Reply]:
        with self._copied() as folder:
            service = Service(folder)
            said = await read_everything(service)
            await service.close()
        with self._copied() as folder:
            service = Service(folder)
            call = service.call

            async def refusing(function: str, **fields: Any) -> Reply:
                skipped = {"index_document": "i", "delete_document": "d"}.get(function, "-")
                return (503, "", []) if skipped in refused else await call(function, **fields)

            service.call = refusing  # type: ignore[method-assign]
            said |= (await change(service))[0]
            await service.close()
            again = Service(folder)
            said |= {f"opened again, {legs}": await consult(again, "depot", legs) for legs in ("keyword", "hybrid")}
            await again.close()
        return said

    def try_damage(self, seed: int) -> Outcome:
        """Damage a copy by the seed, exercise it, and judge."""
        return self.try_change(partial(damages.damage_folder, older=self.older, seed=seed))

    def try_change(self, change_folder: Callable[[Path], str]) -> Outcome:
        with self._copied() as folder:
            outcome = Outcome(change_folder(folder))
            result = run_child(self.context, folder, outcome.damage)
            if isinstance(result, str):
                outcome.verdicts.append("WRONG")
                outcome.wrong.append(result)
                return outcome
            said, done = result
            return judge(said, self.expected[done], outcome)

    @contextmanager
    def _copied(self) -> Iterator[Path]:
        parent = Path(tempfile.mkdtemp(dir=self.root))
        parent.chmod(0o711)
        try:
            yield damages.copy_folder(self.folder, parent / "data")
        finally:
            shutil.rmtree(parent, ignore_errors=True)
