"""The handler of health. It loads no pydantic, because a probe calls it before anybody else."""

from functions.operations import Call, operation
from rag_core.run_reply import Done, format_run

STORE_TIMEOUT_S = 5.0  # a probe waits no longer, whatever time the store asks for


class HealthReply(Done):
    """The components in use. `damage` has the codes of the damages that the store has met since it was opened."""

    parts: dict[str, str]
    damage: list[str]


@operation(
    "List the components in use, and check that the store answers and is not damaged.",
    errors=(503, 504),
)
async def handle_health(request: None, call: Call) -> HealthReply:
    """Reply with the components in use.

    The store is queried, every few seconds at most, so that a damaged one is noticed. There are no counts, names or
    paths in the reply: anyone may call this.
    """
    probing = call.store_probe.describe(call.kit.index.store)
    store = await call.run.step("store", probing, within_s=STORE_TIMEOUT_S)
    parts = {
        "store": store.kind,
        "embedder": call.kit.index.embedder.space or "none",
        "reranker": call.kit.reranker.name,
        "llm": call.kit.llm.name,
        "enrichment": call.kit.enrichment.name if call.kit.enrichment else "none",
        "documents": call.kit.layout_reader.name,
        "archive": call.kit.archive.name,
    }
    return {**format_run(call.run), "parts": parts, "damage": list(store.damage)}
