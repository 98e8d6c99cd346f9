"""What indexing would do and cost, told before anything is paid for."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import pytest

from rag_core.core.errors import Conflict, InvalidRequest, UnreadableDocument
from rag_core.core.index import Index
from rag_core.core.kit import Kit
from rag_core.core.model import Scope
from rag_core.core.run import Run
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.extract.document_intelligence import DocumentIntelligence
from rag_core.ingestion.indexing import index_document
from rag_core.ingestion.plan import BudgetSpent, DryRun, IndexingPlan, LayoutEstimate, Tariff, meter_embedding
from rag_core.ingestion.upload import Upload, UploadLimits
from rag_core.proposals.ingest import ingest_proposals
from rag_core.providers.openai import OpenAIEmbedder
from rag_core.providers.provider_profiles import PROVIDER_PROFILES
from rag_core.stores.embedded import InMemoryVectorStore
from tests import fakes, hosted
from tests.ingestion.office_files import make_zip
from tests.ingestion.pictures import make_mixed_pdf, make_picture
from tests.proposal_records import RECORDS

SCOPE = Scope("garage")
TARIFF = Tariff("concepts", 1000.0)  # a tenth of a cent a token
LIMITS = UploadLimits(10**6, 10.0)
NOTES = Upload(content="The gearbox is hot.\n\nThe brake is not.", source="notes.txt")
LONGER = Upload(content="The cylinder misfires. " * 400, source="longer.txt")


@pytest.fixture
async def kit() -> AsyncIterator[Kit]:
    parts = fakes.kit(Index(InMemoryVectorStore(), fakes.ConceptEmbedder()))
    yield parts
    await parts.close()


async def index(kit: Kit, *uploads: Upload) -> Run:
    run = Run()
    for upload in uploads:
        await index_document(upload, SCOPE, kit, run, chunking=Chunking(), limits=LIMITS)
    return run


async def planned(kit: Kit, *uploads: Upload, tariff: Tariff = TARIFF) -> IndexingPlan:
    rehearsal = DryRun(kit, tariff)
    await index(rehearsal.kit, *uploads)
    return rehearsal.build_plan()


async def test_a_plan_says_what_is_added_and_costs_and_does_nothing_of_it(kit: Kit) -> None:
    plan = await planned(kit, NOTES, LONGER)
    assert plan.action_counts == {"add": 2, "update": 0, "skip": 0, "delete": 0}
    assert plan.documents[0].token_count == TARIFF.count_tokens(["The gearbox is hot.\n\nThe brake is not."])
    assert plan.tariff.price_usd(plan.token_count) == pytest.approx(plan.token_count / 1000)
    assert kit.index.embedder.asked == []
    assert await kit.index.store.list_documents(SCOPE) == []


async def test_a_plan_sends_no_page_to_a_service_that_is_paid_by_the_page(kit: Kit) -> None:
    """The letters of a mixed PDF are planned, and the run names what would be sent; a scan alone is refused so."""
    nowhere = replace(kit, layout_reader=DocumentIntelligence("http://127.0.0.1:9", "key"))
    mixed, _ = make_mixed_pdf(2, {2: "Drain plug"})
    rehearsal = DryRun(nowhere, TARIFF)
    run = await index(rehearsal.kit, Upload(data=mixed, filename="mixed.pdf"))
    assert [d.code for d in run.degraded] == ["layout_not_planned"]
    assert run.layout_pages == 0
    with pytest.raises(UnreadableDocument, match=r"a plan sends nothing to Doc.*1 page would cost about 0\.01 USD"):
        await index(rehearsal.kit, Upload(data=make_picture("Drain plug"), filename="a.png"))
    assert rehearsal.build_plan(run).layout == LayoutEstimate(nowhere.layout_reader.name, 1, 0.01)
    pictures = {f"{name}.png": make_picture(name) for name in ("Drain plug", "Oil filter")}
    zipped = await index(rehearsal.kit, Upload(data=make_zip({"a.txt": b"Drain it.", **pictures}), filename="a.zip"))
    assert zipped.planned_layout_pages == 2  # each, and not only the first that is not sent


async def test_the_second_plan_is_zero_and_only_what_changed_is_in_the_third(kit: Kit) -> None:
    """S2-17: by the hash of the text and of every passage, and with its name."""
    await index(kit, NOTES, LONGER)
    again = await planned(kit, NOTES, LONGER)
    assert (again.action_counts, again.token_count) == ({"add": 0, "update": 0, "skip": 2, "delete": 0}, 0)
    renamed = replace(NOTES, document_id=again.documents[0].document.id, title="Notes of today")
    more = replace(LONGER, content=f"{LONGER.content} The brake is cold.")
    changed = await planned(kit, renamed, more)
    assert [step.action for step in changed.documents] == ["update", "update"]
    assert changed.documents[0].token_count == 0
    assert 0 < changed.documents[1].token_count < TARIFF.count_tokens([more.content or ""])


async def test_a_title_that_the_text_lacks_is_planned_and_paid_for_with_it(kit: Kit) -> None:
    """S2-17: a part of its vector is in that of the passage, which is made anew when the title changes."""
    await index(kit, NOTES)
    id = (await planned(kit, NOTES)).documents[0].document.id
    text = "The gearbox is hot.\n\nThe brake is not."
    renamed = (await planned(kit, replace(NOTES, document_id=id, title="Service record 2024"))).documents[0]
    assert (renamed.action, renamed.token_count) == ("update", TARIFF.count_tokens([text, "Service record 2024"]))


async def test_a_passage_that_has_no_vector_yet_is_not_skipped(kit: Kit) -> None:
    """S2-17: indexed while there was no model, for words only."""
    without = replace(kit, index=replace(kit.index, embedder=fakes.Down()))
    await index(without, NOTES)
    assert (await planned(without, NOTES)).action_counts["skip"] == 1
    assert [(s.action, s.token_count > 0) for s in (await planned(kit, NOTES)).documents] == [("update", True)]


async def test_a_text_that_comes_twice_is_planned_and_paid_for_once(kit: Kit) -> None:
    plan = await planned(kit, NOTES, NOTES)
    assert [step.token_count > 0 for step in plan.documents] == [True, False]


async def test_a_plan_against_vectors_of_another_model_is_refused(kit: Kit) -> None:
    """S3-13, C05: as the run would be, before anything is paid for."""
    await index(kit, NOTES)
    other = fakes.ConceptEmbedder()
    other.space = "others-9"
    with pytest.raises(Conflict) as refused:
        await planned(replace(kit, index=replace(kit.index, embedder=other)), NOTES)
    assert (refused.value.code, other.asked) == ("reindex_required", [])


async def test_the_tokens_of_a_plan_are_those_that_the_run_books() -> None:
    """Counted as the service counts them, prefix and cut included."""
    with hosted.running() as url:
        profile = replace(hosted.at(PROVIDER_PROFILES["openai"], url), document_prefix="passage: ", max_text_tokens=300)
        embedder = OpenAIEmbedder(profile, key="key")
        kit = fakes.kit(Index(InMemoryVectorStore(), embedder))
        tariff = Tariff(profile.embedding_model, 0.02, profile.document_prefix, profile.max_text_tokens)
        plan = await planned(kit, NOTES, LONGER, tariff=tariff)
        booked = await index(kit, NOTES, LONGER)
        again = await index(kit, NOTES, LONGER)
        await embedder.close()
    assert plan.token_count == booked.input_tokens > 300
    assert again.input_tokens == 0


async def test_a_plan_of_proposals_counts_a_text_of_several_stages_once(kit: Kit) -> None:
    """S2-17: as `rag ingest` pays for it; the second plan is zero, and clearing pays for all again."""
    rehearsal = DryRun(kit, TARIFF)
    foretold = await ingest_proposals(RECORDS, SCOPE, rehearsal.kit, Run())
    plan = rehearsal.build_plan()
    assert [step.token_count > 0 for step in plan.documents] == [True, False, False, True]
    paid = meter_embedding(kit, TARIFF, None)
    done = await ingest_proposals(RECORDS, SCOPE, paid, Run())
    assert (foretold.embedded, plan.token_count) == (done.embedded, paid.index.embedder.sent_tokens)
    second, cleared = DryRun(kit, TARIFF), DryRun(kit, TARIFF)
    await ingest_proposals(RECORDS, SCOPE, second.kit, Run())
    await ingest_proposals(RECORDS[1:], SCOPE, cleared.kit, Run(), clear=True)
    assert (second.build_plan().token_count, second.build_plan().action_counts["skip"]) == (0, 4)
    assert cleared.build_plan().action_counts["delete"] == 3
    assert cleared.build_plan().token_count == plan.documents[-1].token_count
    assert len(await kit.index.store.list_documents(SCOPE)) == 4


async def test_the_budget_stops_before_the_document_that_would_exceed_it(kit: Kit) -> None:
    cost = (await planned(kit, NOTES)).token_count / 1000
    tight = meter_embedding(kit, TARIFF, cost)
    await index(tight, NOTES)
    with pytest.raises(BudgetSpent, match=r"0\.000000 are left"):
        await index(tight, LONGER)
    assert [document.title for document in await kit.index.store.list_documents(SCOPE)] == ["notes"]
    await index(tight, NOTES)  # nothing new is nothing to pay
    await index(meter_embedding(kit, TARIFF, 1000.0), NOTES, LONGER)
    assert len(await kit.index.store.list_documents(SCOPE)) == 2


async def test_a_budget_in_the_middle_of_proposals_is_told_and_gone_on_from(kit: Kit) -> None:
    first = DryRun(kit, TARIFF)
    await ingest_proposals(RECORDS[:1], SCOPE, first.kit, Run())
    done = await ingest_proposals(
        RECORDS, SCOPE, meter_embedding(kit, TARIFF, first.build_plan().token_count / 1000), Run()
    )
    assert done.stopped.startswith("record 2: the next")
    assert done.documents == 3
    rest = await ingest_proposals(RECORDS, SCOPE, kit, Run())
    assert (rest.documents, rest.embedded, rest.stopped) == (4, 1, "")


@pytest.mark.parametrize(("tokens", "usd"), [(0, 0.0), (50_000, 0.001)])
def test_a_tariff_is_by_the_million(tokens: int, usd: float) -> None:
    assert Tariff("small", 0.02).price_usd(tokens) == pytest.approx(usd)


def test_a_budget_without_a_price_is_refused(kit: Kit) -> None:
    texts: Sequence[str] = ["a"]
    unknown = Tariff("unheard-of", None)
    assert unknown.price_usd(unknown.count_tokens(texts)) is None
    with pytest.raises(InvalidRequest, match="the price of unheard-of is not known"):
        meter_embedding(kit, unknown, 1.0)
