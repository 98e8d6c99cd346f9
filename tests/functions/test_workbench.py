"""The workbench over HTTP, through the emulator's host on the loopback interface, held to its document's examples."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

import function_app
from functions import saved_queries, workbench_steps
from functions.operations import load_operation
from functions.requests import parse_request
from functions.routes import ROUTES
from local_emulator.host import run_host
from rag_core.composition import assembly
from rag_core.core.kit import Kit
from rag_core.core.model import SavedQuery
from rag_core.core.settings import Settings
from tests.fakes import ConceptEmbedder, Down, OverlapReranker, ScriptedLLM
from tests.functions.contract import check_reply
from tests.functions.test_jobs import signed_in
from tests.varying_fields import drop_varying_fields

EXAMPLES: Mapping[str, Any] = json.loads(
    (Path(__file__).parents[1] / "data" / "s0" / "examples.json").read_text("utf-8")
)
ASKED = {"original_query": "What does P0700 mean?"}
ANSWER = "P0700 means that the TCM has stored a fault."
EXPANSION = json.dumps(
    {
        "queries": ["What is the transmission code P0700?", "Which fault stores P0700 in the TCM?"],
        "hyde": "P0700 means that the transmission control module has stored a fault of its own.",
        "intent": "DEFINITION",
        "entities": ["P0700"],
    }
)
BODY = "The gearbox is then held in third gear until the fault is read and cleared with a tester at the socket. "
MANUAL = "\n\n".join(
    [
        "# Transmission",
        "## What P0700 means",
        f"P0700 means that the TCM has stored a fault.\n{BODY * 4}",
        "## What to do",
        f"Read the TCM before the gearbox is replaced.\n{BODY * 4}",
        "# Brakes",
        f"A caliper that sticks makes the brake hot.\n{BODY * 4}",
    ]
)


@dataclass
class Caller:
    """Calls the functions as a client on the network does, and holds every reply to its model and to the document."""

    url: str
    who: Mapping[str, str] = field(default_factory=dict)

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, dict[str, Any]]:
        connection = HTTPConnection(self.url.removeprefix("http://"))
        sent = None if body is None else json.dumps(body)
        kind = {"content-type": "application/json"} if body is not None else {}
        connection.request(method, path, sent, {**kind, **self.who})
        reply = connection.getresponse()
        told: dict[str, Any] = json.loads(reply.read() or "null")
        connection.close()
        return reply.status, told

    def ok(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        status, told = self.call(method, path, body)
        assert status == 200, told
        route = documented(method, path)
        check_reply(REPLIES[route], told)
        assert list(deviations(EXAMPLES.get(route, {}).get("response"), told)) == []
        return told

    def refused(self, method: str, path: str, body: Any = None) -> tuple[int, dict[str, Any]]:
        status, told = self.call(method, path, body)
        check_reply("Refusal", told)
        return status, told["error"]


def documented(method: str, path: str) -> str:
    """The route of an address, written as the document writes it."""
    parts = path.partition("?")[0].split("/")
    named = ["{id}" if n == 3 and part.isdigit() else part for n, part in enumerate(parts)]
    if parts[1:3] in (["rag", "presets"], ["rag", "prompts"]) and len(parts) > 3:
        named[3] = "{name}" if parts[2] == "presets" else "{tag}"
    return f"{method} {'/'.join('{resultId}' if n == 5 and p.isdigit() else p for n, p in enumerate(named))}"


OPERATIONS = {f"{m} /{r.path.replace('result_id', 'resultId')}": load_operation(r) for r in ROUTES for m in r.methods}
REPLIES = {route: operation.reply.__name__ for route, operation in OPERATIONS.items()}


def deviations(example: Any, given: Any, path: str = "") -> Iterator[str]:
    """Where a reply lacks a field of the example, or has another JSON type in its place."""
    if example is None:
        return
    if type(example) is not type(given):
        yield f"{path or 'the reply'} is {type(given).__name__} and not {type(example).__name__}"
    elif isinstance(example, dict):
        yield from (f"{path}.{name} is missing" for name in example.keys() - given.keys())
        for name in example.keys() & given.keys():
            yield from deviations(example[name], given[name], f"{path}.{name}")
    elif isinstance(example, list) and example:
        for place, item in enumerate(given):
            yield from deviations(example[0], item, f"{path}.{place}")


def kit_of(settings: Settings, **parts: Any) -> Kit:
    """The real parts, but for small models whose words are known."""
    kit = assembly.build_kit(settings)
    model = parts.pop("llm", ScriptedLLM(query_expansion=EXPANSION, rag_augmentation=ANSWER))
    embedder = parts.pop("embedder", ConceptEmbedder())
    index = replace(kit.index, embedder=embedder)
    return replace(kit, index=index, llm=model, reranker=OverlapReranker(), **parts)


@contextmanager
def serving(folder: Path, kit: Kit | None = None, **chosen: Any) -> Iterator[Caller]:
    settings = Settings(**{"data_dir": folder, "models_dir": folder, "trust_principal": True, **chosen})
    parts = kit or kit_of(settings)
    with run_host(function_app.build_app(lambda: settings, lambda: parts), on_close=parts.close) as url:
        yield Caller(url)


@contextmanager
def served(folder: Path, kit: Kit | None = None, **chosen: Any) -> Iterator[Caller]:
    """With the manual indexed for everyone."""
    with serving(folder, kit, **chosen) as caller:
        caller.ok("POST", "/api/index_document", {"document_id": "manual", "content": MANUAL, "source": "manual.md"})
        yield caller


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """With a chat model, an embedder and a ranker that are small."""
    with served(tmp_path_factory.mktemp("scripted")) as caller:
        yield caller


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """Without a chat model: the local models, where they are installed."""
    folder = tmp_path_factory.mktemp("local")
    with served(folder, assembly.build_kit(Settings(data_dir=folder))) as caller:
        yield caller


def new(call: Caller, **fields: Any) -> str:
    """The address of a question that was just pasted."""
    made = call.ok("POST", "/rag/expansion/manual", {**ASKED, "llm_response": EXPANSION, **fields})
    return f"/rag/queries/{made['query_id']}"


def taken(call: Caller, *steps: str) -> str:
    """The address of a new question that was taken through these steps."""
    address = new(call)
    for step in steps:
        call.ok("POST", f"{address}/{step}")
    return address


@pytest.mark.parametrize("parts", ["call", "local"])
def test_a_question_is_taken_through_all_steps(parts: str, request: pytest.FixtureRequest) -> None:
    """S0-09, S0-10..17, S0-20..36, S0-94..99: create, expand, embed, retrieve, consolidate, augment, run, paste, read;
    with a chat model and without one, every reply with the document's fields, JSON types and words.
    """
    call: Caller = request.getfixturevalue(parts)
    shown = call.ok("POST", "/rag/expansion/prompt", ASKED)
    assert (shown["prompt"][:17], shown["query"]) == ("You are an expert", ASKED["original_query"])
    made = call.ok("POST", "/rag/expansion/run", ASKED | {"use_full_model": True})
    address = f"/rag/queries/{made['query_id']}"
    assert made["intent"] == "DEFINITION"
    assert made["expanded_queries"]
    status = call.ok("GET", address)
    assert (status["vector_status"], status["next_step"]) == ("no_vec", "embed")

    embedded = call.ok("POST", f"{address}/embed")
    vectors = {"original": 1, "expanded_queries": len(made["expanded_queries"]), "hyde": int(parts == "call")}
    assert call.ok("GET", address)["steps"]["embed"]["went_in"] == vectors
    assert (embedded["message"], embedded["vector_status"]) == ("Query vectorized successfully", "vec")
    retrieved = call.ok("POST", f"{address}/retrieve")
    chunks = retrieved["chunks_retrieved"]
    assert 0 < chunks <= 15
    assert retrieved["message"] == f"Retrieved {chunks} chunks"
    status = call.ok("GET", address)
    assert (status["has_retrieved_context"], status["has_clean_context"]) == (True, False)
    assert status["available_context_count"] == len(status["retrieved_context"]) == chunks

    consolidated = call.ok("POST", f"{address}/consolidate")
    groups = consolidated["consolidated_count"]
    assert (consolidated["original_count"], groups > 0) == (chunks, True)
    assert consolidated["message"] == f"Consolidated {chunks} chunks into {groups} groups"
    status = call.ok("GET", address)
    assert (status["has_clean_context"], status["available_context_count"]) == (True, groups)
    assert status["next_step"] == "augment"

    prompt = call.ok("GET", f"{address}/augment/prompt")
    assert prompt["prompt"].startswith("You are an expert")
    assert prompt["prompt"].index("Query: What does P0700 mean?") < prompt["prompt"].index("Context:")
    assert prompt["context_count"] == min(5, groups)
    assert call.ok("GET", f"{address}/augment/prompt?top_n=1")["context_count"] == 1

    ran = call.ok("POST", f"{address}/augment/run", {"top_n": 5, "use_full_model": False})
    assert "P0700" in ran["response_text"]
    pasted = call.ok("POST", f"{address}/augment/manual", {"response_text": "The TCM has a fault.", "top_n": 5})
    assert pasted["message"] == "Response saved successfully"
    listed = call.ok("GET", f"{address}/results")
    assert [result["id"] for result in listed["results"]] == [pasted["result_id"], ran["result_id"]]
    one = call.ok("GET", f"{address}/results/{ran['result_id']}")
    assert (one["query_id"], one["response_text"]) == (made["query_id"], ran["response_text"])

    listing = call.ok("GET", "/rag/queries")
    first = listing["queries"][0]
    assert (first["id"], first["results_count"]) == (made["query_id"], 2)
    assert (first["has_retrieved_context"], first["has_clean_context"]) == (True, True)


@pytest.mark.parametrize(("clean", "count"), [(None, 3), ((), 3), (({}, {}), 2)])
def test_the_contexts_that_count_are_those_that_a_prompt_is_made_of(clean: Any, count: int) -> None:
    """S0-14, S0-17, S0-62: the consolidated ones, where there are any, else those retrieved."""
    told = saved_queries._format_query(
        SavedQuery(1, "w", "?", retrieved_context=({}, {}, {}), clean_retrieval_context=clean)
    )
    assert told["available_context_count"] == count
    assert (told["has_retrieved_context"], told["has_clean_context"]) == (True, clean is not None)


def test_five_contexts_are_put_before_a_model_unless_said_otherwise() -> None:
    """S0-27, S0-63: shown, sent and pasted to alike."""
    asked = [
        workbench_steps.AugmentRequest(id=1),
        workbench_steps.AugmentRun(id=1),
        workbench_steps.AugmentPaste(id=1, response_text="So."),
    ]
    assert [request.top_n for request in asked] == [5, 5, 5]


PLACES = ("axle", "boot", "cabin", "dashboard", "exhaust", "fuse", "gasket", "hood", "intake")


@pytest.mark.parametrize(("given", "count"), [({}, 5), ({"top_n": 5}, 5), ({"top_n": 2}, 2), ({"top_n": 7}, 7)])
def test_a_pasted_response_is_saved_word_for_word_and_held_to_the_top_n_best_contexts(
    call: Caller, given: dict[str, int], count: int
) -> None:
    """S0-31: body `{response_text, top_n: 5}`; 5 unless said otherwise, of the nine passages that there are."""
    named = {"workflow_id": "pasted"}
    for place in PLACES:
        document = {"document_id": place, "content": f"The {place} has P0700 stored by the TCM.", "source": "a.txt"}
        call.ok("POST", "/api/index_document", document | named)
    address = new(call, **named)
    for step in ("embed", "retrieve"):
        call.ok("POST", f"{address}/{step}", named)
    assert call.ok("GET", f"{address}?workflow_id=pasted")["available_context_count"] == len(PLACES)
    text = "The fuse has P0700 stored by the TCM."
    pasted = call.ok("POST", f"{address}/augment/manual", {"response_text": text, **given, **named})
    saved = call.ok("GET", f"{address}/results/{pasted['result_id']}?workflow_id=pasted")
    went_in = saved["details"]["went_in"]
    assert (saved["response_text"], went_in["pasted"], went_in["contexts"]) == (text, True, count)


def test_an_expansion_that_was_had_elsewhere_is_pasted(call: Caller) -> None:
    """S0-38, S0-39, S0-07."""
    made = call.ok("POST", "/rag/expansion/manual", {**ASKED, "llm_response": EXPANSION})
    assert made["message"] == "Query created successfully"
    query = call.ok("GET", f"/rag/queries/{made['query_id']}")
    assert query["expanded_queries"] == json.loads(EXPANSION)["queries"]
    assert (query["intent"], query["entities"]) == ("DEFINITION", ["P0700"])
    status, error = call.refused("POST", "/rag/expansion/manual", ASKED | {"llm_response": "  "})
    assert (status, error["field"]) == (400, "llm_response")


def test_a_step_that_wants_nothing_said_takes_no_body_or_the_workflow(call: Caller) -> None:
    """S0-20, S0-23, S0-25: no body, as documented; and a JSON object with the workflow alone."""
    address = new(call, workflow_id="elsewhere")
    assert call.refused("POST", f"{address}/embed")[0] == 404
    assert call.ok("POST", f"{address}/embed", {"workflow_id": "elsewhere"})["vector_status"] == "vec"
    assert call.refused("POST", f"{address}/embed", {"workflow": "elsewhere"})[1]["field"] == "workflow"
    assert call.refused("DELETE", address)[0] == 404
    assert call.ok("DELETE", address, {"workflow_id": "elsewhere"})["deleted"] is True
    other = new(call, workflow_id="elsewhere")
    assert call.ok("DELETE", f"{other}?workflow_id=elsewhere")["deleted"] is True
    assert call.refused("GET", f"{other}?workflow_id=elsewhere")[1]["code"] == "query_not_found"


LATER = {
    "retrieve": ("POST", None, "embed"),
    "consolidate": ("POST", None, "embed"),
    "augment/prompt": ("GET", None, "embed"),
    "augment/run": ("POST", None, "embed"),
    "augment/manual": ("POST", {"response_text": "x"}, "embed"),
    "replay": ("POST", {"preset": "standard"}, "embed"),
}


@pytest.mark.parametrize("step", LATER)
def test_a_step_before_its_turn_is_refused_with_the_one_that_is_missing(call: Caller, step: str) -> None:
    """S0-42, S0-09: 409, which the page can act on."""
    method, body, missing = LATER[step]
    address = new(call)
    status, error = call.refused(method, f"{address}/{step}", body)
    assert (status, error["code"], error["details"]) == (409, "step_missing", {"next_step": missing})
    assert error["message"] == "embed the query first"
    assert call.ok("GET", address)["results_count"] == 0


def test_an_edit_takes_back_what_was_made_of_the_old_words(call: Caller) -> None:
    """S0-18, S0-19, S0-100: the updated object; its stale embeddings and contexts are gone."""
    address = taken(call, "embed", "retrieve", "consolidate")
    query = call.ok("PATCH", address, {"intent": "MECHANISM", "entities": ["TCM"]})
    assert (query["intent"], query["entities"], query["vector_status"]) == ("MECHANISM", ["TCM"], "vec")
    assert (query["retrieved_context"], query["clean_retrieval_context"], query["next_step"]) == ([], [], "retrieve")
    query = call.ok("PATCH", address, EXAMPLES["PATCH /rag/queries/{id}"]["request"])
    assert (query["original_query"], query["intent"]) == ("Updated question", "MECHANISM")
    assert (query["vector_status"], query["next_step"]) == ("to_vec", "embed")
    assert call.refused("POST", f"{address}/retrieve")[1]["details"] == {"next_step": "embed"}
    edited = {"expanded_queries": ["Another?"], "hyde_answer": "Perhaps."}
    assert call.ok("PATCH", address, edited).items() >= edited.items()
    assert list(deviations(EXAMPLES["GET /rag/queries/{id}"]["response"], query)) == []


def test_a_field_that_cannot_be_edited_is_refused_by_its_name(call: Caller) -> None:
    """S0-18."""
    address = new(call)
    for wrong in ({"vector_status": "vec"}, {"id": 7}, {"original_query": " "}, {"entities": "TCM"}, {"intent": 5}):
        status, error = call.refused("PATCH", address, wrong)
        assert (status, error["field"]) == (400, next(iter(wrong)))


def test_an_embedding_that_fails_is_told_by_the_status(tmp_path: Path) -> None:
    """S0-100, S0-87: vec_err, and it can be tried again."""
    settings = Settings(data_dir=tmp_path, models_dir=tmp_path)
    down = Down()
    down.dimensions, down.space = 5, "down"
    with serving(tmp_path, kit_of(settings, embedder=down)) as call:
        address = new(call)
        assert call.refused("POST", f"{address}/embed")[0] == 503
        query = call.ok("GET", address)
        assert (query["vector_status"], query["next_step"]) == ("vec_err", "embed")


def test_the_list_goes_from_the_newest_in_pages(call: Caller) -> None:
    """S0-10, S0-12, S0-13: all without parameters; `total` is of all of them whatever the page."""
    made = [int(new(call, workflow_id="pages").rsplit("/", 1)[1]) for _ in range(3)]
    whole = call.ok("GET", "/rag/queries?workflow_id=pages")
    assert [query["id"] for query in whole["queries"]] == made[::-1]
    page = call.ok("GET", f"/rag/queries?workflow_id=pages&limit=1&before={made[2]}")
    assert [query["id"] for query in page["queries"]] == [made[1]]
    assert whole["total"] == page["total"] == 3


ODD_IDS = ["abc", "0", "-1", "%2B1", "1.0", "01", "1e3", "%D9%A3", "99999999999999999999", "1%20"]


@pytest.mark.parametrize("id", ODD_IDS)
def test_an_id_is_a_whole_number_in_digits(call: Caller, id: str) -> None:
    """S0-15: 400 that names it, and nothing is guessed."""
    for method, path in (("GET", ""), ("POST", "/embed"), ("DELETE", ""), ("GET", "/results/1")):
        status, error = call.refused(method, f"/rag/queries/{id}{path}")
        assert (status, error["field"]) == (400, "id"), (method, path)
    assert call.refused("GET", f"{new(call)}/results/{id}")[1]["field"] == "result_id"


def test_an_id_that_is_nobodys_is_not_found(call: Caller) -> None:
    """S0-15, S0-34: also the highest that can be written."""
    for id in (2**31 - 1, 2**31, 2**53):
        assert call.refused("GET", f"/rag/queries/{id}")[1]["code"] == "query_not_found"
    assert call.refused("GET", f"{new(call)}/results/{2**53}")[1]["code"] == "result_not_found"


def test_the_address_is_not_said_twice(call: Caller) -> None:
    """S0-15: a body or a query string that names another id is refused rather than chosen between."""
    address = new(call)
    for method, path, body in (("POST", "/embed", {"id": 1}), ("GET", "?id=1", None), ("PATCH", "", {"id": 1})):
        status, error = call.refused(method, f"{address}{path}", body)
        assert (status, error["field"], "address" in error["message"]) == (400, "id", True)


def everything(address: str, result: int, workflow: str = "default") -> list[tuple[str, str, Any]]:
    """Every way to a question."""
    named, query = {"workflow_id": workflow}, f"?workflow_id={workflow}"
    return [
        ("GET", f"{address}{query}", None),
        ("PATCH", address, {"intent": "FACT", **named}),
        ("POST", f"{address}/embed", named),
        ("POST", f"{address}/retrieve", named),
        ("POST", f"{address}/consolidate", named),
        ("GET", f"{address}/augment/prompt{query}", None),
        ("POST", f"{address}/augment/run", named),
        ("POST", f"{address}/augment/manual", {"response_text": "mine", **named}),
        ("GET", f"{address}/results{query}", None),
        ("GET", f"{address}/results/{result}{query}", None),
        ("POST", f"{address}/replay", {"preset": "standard", **named}),
        ("PUT", f"{address}/feedback", {"rating": "up", **named}),
        ("GET", f"{address}/evidence{query}", None),
        ("GET", f"{address}/prompt{query}", None),
        ("DELETE", f"{address}{query}", None),
    ]


def test_every_way_to_a_question_is_tried() -> None:
    tried = {documented(method, path) for method, path, _ in everything("/rag/queries/1", 1)}
    assert tried == {route for route in REPLIES if "/rag/queries/{id}" in route}


def test_what_is_anothers_is_answered_as_what_is_not_there(tmp_path: Path) -> None:
    """S0-11, S0-15, S0-33: no user and no workflow sees, changes, runs or lists another's questions and results."""
    with served(tmp_path) as nobody:
        ann, bob = (replace(nobody, who=signed_in(name)) for name in ("ann", "bob"))
        address = taken(ann, "embed", "retrieve", "consolidate")
        result = ann.ok("POST", f"{address}/augment/run")["result_id"]
        before = ann.ok("GET", address)
        for stranger, workflow in ((bob, "default"), (nobody, "default"), (ann, "other")):
            for (method, path, body), (_, absent, _) in zip(
                everything(address, result, workflow), everything("/rag/queries/4242", result, workflow), strict=True
            ):
                status, error = stranger.refused(method, path, body)
                assert (status, error) == stranger.refused(method, absent, body), (method, path)
                assert (status, error["code"]) == (404, "query_not_found"), (method, path)
            listed = stranger.ok("GET", f"/rag/queries?workflow_id={workflow}")
            assert (listed["queries"], listed["total"]) == ([], 0)
        assert drop_varying_fields(ann.ok("GET", address)) == drop_varying_fields(before)


def test_a_result_is_only_found_under_its_own_question(call: Caller) -> None:
    """S0-34."""
    one, other = taken(call, "embed", "retrieve"), new(call)
    result = call.ok("POST", f"{one}/augment/manual", {"response_text": "Mine."})["result_id"]
    assert call.ok("GET", f"{one}/results/{result}")["model"] == ""
    assert call.refused("GET", f"{other}/results/{result}")[1]["code"] == "result_not_found"


def test_times_are_iso_8601_in_utc(call: Caller) -> None:
    """S0-34: as "2024-01-01T12:00:00Z"."""
    address = taken(call, "embed", "retrieve")
    result = call.ok("POST", f"{address}/augment/manual", {"response_text": "Mine."})["result_id"]
    one, query = call.ok("GET", f"{address}/results/{result}"), call.ok("GET", address)
    for time in (one["created_at"], one["updated_at"], query["created_at"], query["updated_at"]):
        assert len(time) == len("2024-01-01T12:00:00Z")
        assert time[10::9] == "TZ"


def test_where_the_credential_names_the_workflows_no_other_can_be_named(tmp_path: Path) -> None:
    """S0-10, S0-35: nor for a question that is new."""
    asked = [*everything("/rag/queries/1", 1), ("GET", "/rag/queries", None)]
    asked += [("POST", f"/rag/expansion/{way}", ASKED) for way in ("prompt", "run")]
    asked += [("POST", "/rag/expansion/manual", ASKED | {"llm_response": EXPANSION})]
    with serving(tmp_path, workflow_claim="tenant") as nobody:
        call = replace(nobody, who=signed_in("ann", tenant="north"))
        for method, path, body in asked:
            assert call.refused(method, path, body)[1]["code"] == "workflow_not_found"
        assert call.ok("GET", "/rag/queries?workflow_id=north")["total"] == 0


ADMIN = signed_in("ada", roles="admin")


def test_presets_are_listed_edited_and_reset(tmp_path: Path) -> None:
    """S0-43, S0-84, S0-85, S0-90, S0-91: numbers as shipped and as edited; only an administrator changes them."""
    with served(tmp_path) as call:
        admin = replace(call, who=ADMIN)
        listed = {preset["name"]: preset for preset in call.ok("GET", "/rag/presets")["presets"]}
        assert listed["workbench"]["numbers"] == listed["workbench"]["packaged"]
        config = {"top_k": 1, "search_type": "hybrid"}
        body = {"config": config, "description": "the best alone"}
        assert call.refused("PUT", "/rag/presets/workbench", body)[0] == 403
        saved = admin.ok("PUT", "/rag/presets/default", body)["preset"]
        assert (saved["name"], saved["edited"], saved["description"]) == ("workbench", config, "the best alone")
        assert (saved["numbers"]["top_k"], saved["packaged"]["top_k"]) == (1, 15)
        assert call.ok("POST", f"{taken(call, 'embed')}/retrieve")["message"] == "Retrieved 1 chunks"
        assert call.refused("DELETE", "/rag/presets/workbench")[0] == 403
        assert admin.ok("DELETE", "/rag/presets/default")["preset"]["edited"] == {}
        for wrong in ({"top_k": 0}, {"top_n": 2.5}, {"nonsense": 1}, {"search_type": "psychic"}):
            status, error = admin.refused("PUT", "/rag/presets/workbench", {"config": wrong})
            assert (status, error["field"]) == (400, next(iter(wrong)))
        assert not any(preset["edited"] for preset in call.ok("GET", "/rag/presets")["presets"])
        assert admin.refused("PUT", "/rag/presets/unknown", {"config": {}})[1]["code"] == "preset_not_found"


def test_an_edit_that_a_newer_version_does_not_take_has_no_effect_and_is_named(tmp_path: Path) -> None:
    """S0-90: neither the list nor a step is refused for it, and the rest of the edit holds."""
    kept = {"top_k": 7, "rrf_k": 10**6, "of_old": 1}
    made = kit_of(Settings(data_dir=tmp_path))
    asyncio.run(made.archive.save_edited_preset("workbench", kept))
    with serving(tmp_path, made) as call:
        listed = call.ok("GET", "/rag/presets")
        (found,) = (one for one in listed["presets"] if one["name"] == "workbench")
        assert (found["numbers"]["top_k"], found["numbers"]["rrf_k"], found["edited"]) == (7, 60, {"top_k": 7})
        (told,) = listed["warnings"]
        assert (told["code"], "of_old, rrf_k" in told["message"]) == ("edit_has_no_effect", True)
        assert call.ok("POST", "/rag/expansion/run", ASKED)["query_id"]


def test_prompts_are_listed_edited_and_reset(tmp_path: Path) -> None:
    """S0-64, S0-69, S0-92: the wording that is shown is the one that is in force, and the one that is sent."""
    with served(tmp_path) as call:
        admin = replace(call, who=ADMIN)
        listed = call.ok("GET", "/rag/prompts")["prompts"]
        assert [(prompt["tag"], prompt["edited"]) for prompt in listed] == [
            ("query_expansion", False),
            ("rag_augmentation", False),
        ]
        wording = "Say it in one word.\n\nQuery: {query}\n\nContext:\n{contexts}"
        assert call.refused("PUT", "/rag/prompts/rag_augmentation", {"wording": wording})[0] == 403
        assert admin.ok("PUT", "/rag/prompts/rag_augmentation", {"wording": wording})["prompt"]["edited"] is True
        address = taken(call, "embed", "retrieve")
        assert call.ok("GET", f"{address}/augment/prompt")["prompt"].startswith("Say it in one word.")
        assert admin.ok("DELETE", "/rag/prompts/rag_augmentation")["prompt"]["edited"] is False
        assert call.ok("GET", f"{address}/augment/prompt")["prompt"].startswith("You are an expert")
        status, error = admin.refused("PUT", "/rag/prompts/rag_augmentation", {"wording": "Answer {query}."})
        assert (status, error["field"], "{contexts}" in error["message"]) == (400, "wording", True)
        assert admin.refused("PUT", "/rag/prompts/summary", {"wording": "x"})[1]["code"] == "prompt_not_found"


def test_a_reply_that_lacks_a_field_or_has_another_type_is_seen() -> None:
    """The check above can fail."""
    example = {"queries": [{"id": 1, "intent": "X"}], "total": 2}
    wrong = {"queries": [{"id": "1"}], "total": True}
    assert sorted(deviations(example, wrong)) == [
        ".queries.0.id is str and not int",
        ".queries.0.intent is missing",
        ".total is bool and not int",
    ]
    assert list(deviations(example, example)) == []


def test_every_example_of_the_document_belongs_to_a_route_of_ours() -> None:
    """S0-10..39: 14 routes."""
    assert len(EXAMPLES) == 14
    assert set(EXAMPLES) <= set(REPLIES)
    for route, example in EXAMPLES.items():
        if "request" in example:
            addressed = {"id": "1"} if "{id}" in route else {}
            model = OPERATIONS[route].request
            assert model
            parse_request(model, {**example["request"], **addressed})
