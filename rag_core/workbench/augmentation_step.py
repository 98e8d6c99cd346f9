"""The last step of a saved query: the augmented prompt, and verified answers to it (S0-62 to S0-68)."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from rag_core.answering.answer import select_evidence
from rag_core.core.errors import Conflict, InvalidRequest
from rag_core.core.model import Evidence, SavedQuery, SavedResult
from rag_core.core.ports import Prompt
from rag_core.core.techniques import note_techniques
from rag_core.prompts.augmentation import AUGMENTATION_TASK as AUGMENTATION
from rag_core.prompts.augmentation import build_augmentation_prompt
from rag_core.workbench import contexts, responses
from rag_core.workbench.session import (
    WorkbenchSession,
    find_next_step,
    load_edited_template,
    load_saved_query,
    make_step_missing_error,
    resolve_workbench_preset,
    save_query_change,
)
from rag_core.workbench.step_records import build_step_record, list_document_ids


@dataclass(frozen=True, slots=True)
class AugmentedPrompt:
    """A prompt with its evidence, and the saved contexts from which the evidence was selected."""

    prompt: Prompt
    evidence: tuple[Evidence, ...]
    contexts: Sequence[Mapping[str, Any]]

    @property
    def text(self) -> str:
        return self.prompt.text

    @property
    def context_count(self) -> int:
        return len(self.evidence)


async def build_augmented_prompt(query_id: int, top_n: int, session: WorkbenchSession) -> AugmentedPrompt:
    """Build the prompt of the best `top_n` contexts, consolidated ones if there are any, else retrieved ones (S0-62).

    Raises:
        Conflict: nothing was retrieved yet (step_missing).
    """
    return await _augment_query(await load_saved_query(query_id, session), top_n, session)


async def answer_saved_query(
    query_id: int, top_n: int, session: WorkbenchSession, *, use_full_model: bool = False
) -> SavedResult:
    """Answer a saved query by a model's response to the augmented prompt, and save the verified response (S0-68)."""
    query, kit = await load_saved_query(query_id, session), note_techniques(session.kit, session.run)
    augmented_prompt = await _augment_query(query, top_n, session)
    llm = kit.full_llm if use_full_model else kit.llm
    text, model = await responses.generate_response(
        query.original_query, augmented_prompt.prompt, augmented_prompt.evidence, llm, kit, session.run
    )
    session.run.techniques.setdefault(responses.ANSWER_STEP, model)
    options = {"full_model": use_full_model, "top_n": top_n}
    return await _save_verified_answer(query, augmented_prompt, text, model, options, session)


async def save_pasted_answer(query_id: int, response_text: str, top_n: int, session: WorkbenchSession) -> SavedResult:
    """Verify and save a response to the augmented prompt that the user pasted. Raises InvalidRequest if it is empty."""
    if not response_text.strip():
        raise InvalidRequest("response_text", "must not be empty")
    query = await load_saved_query(query_id, session)
    augmented_prompt = await _augment_query(query, top_n, session)
    session.run.techniques[responses.ANSWER_STEP] = "pasted"
    options = {"pasted": True, "top_n": top_n}
    return await _save_verified_answer(query, augmented_prompt, response_text.strip(), "", options, session)


async def _augment_query(query: SavedQuery, top_n: int, session: WorkbenchSession) -> AugmentedPrompt:
    if query.retrieved_context is None and query.clean_retrieval_context is None:
        raise make_step_missing_error(find_next_step(query))
    stored_contexts = query.clean_retrieval_context or query.retrieved_context or ()
    preset = await resolve_workbench_preset(session, top_n=top_n)
    template = await load_edited_template(AUGMENTATION, session)
    answer_query = preset.build_query(query.original_query, session.scope)
    evidence = await select_evidence(
        answer_query, [contexts.decode_context(stored) for stored in stored_contexts], session.run
    )
    prompt = build_augmentation_prompt(
        answer_query.text, evidence, intent=query.intent, entities=query.entities, template=template
    )
    return AugmentedPrompt(prompt, evidence, stored_contexts)


async def _save_verified_answer(
    query: SavedQuery,
    augmented: AugmentedPrompt,
    response_text: str,
    model: str,
    options: Mapping[str, Any],
    session: WorkbenchSession,
) -> SavedResult:
    """Verify a response and save it as a result of the query, with the record of the step."""
    screened, claims = await responses.verify_response(
        response_text, augmented.evidence, note_techniques(session.kit, session.run), session.run
    )
    inputs = {
        **options,
        "contexts": augmented.context_count,
        "prompt_hash": sha256(augmented.text.encode()).hexdigest()[:12],
    }
    outputs = {"chars": len(screened), "verdicts": [claim.verdict for claim in claims]}
    record = build_step_record(session.run, inputs, outputs)
    formatted_claims = responses.format_response_claims(claims, augmented.contexts)
    document_ids = list_document_ids([passage.hit for passage in augmented.evidence])
    details = {**options, **record, "model": model, "claims": formatted_claims, "document_ids": document_ids}
    result = SavedResult(0, query.id, screened, model, details)
    saved = await session.run.step("save", session.kit.archive.add_result(result, session.scope))
    with suppress(Conflict):  # the query was changed meanwhile; the result has the record as well
        await save_query_change(replace(query, steps={**query.steps, "augment": record}), session)
    return saved
