"""`python -m evals.recorded_judge [tuning|final]`: claims by hand, judged as a capable chat model judged them.

Language models that saw the prompts of the judge and nothing else (no label, no code) wrote the replies in
evals/data/claims_by_hand/judged_by_models.jsonl, a claim a row; docs/decisions/0119-a-capable-model-behind-it.md. They
go the whole way of a chat model's reply: parsed by id, their words looked for in the passage, overruled by facts.
"""

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rag_core.answering.chat_judge import ChatJudge
from rag_core.composition import assembly
from rag_core.core.kit import Kit
from rag_core.core.model import Claim
from rag_core.core.ports import Completion, Prompt
from rag_core.evaluation import labelled_claims
from rag_core.evaluation.labelled_claims import LabelledClaim
from rag_core.prompts import NO_PASSAGE

FOLDER = Path(__file__).parent / "data" / "claims_by_hand"
RECORDED_FILE = FOLDER / "judged_by_models.jsonl"


class RecordedJudgeModel:
    """A chat model that replies to the prompts of the judge with the verdict that was recorded for each claim."""

    name = "recorded judge"

    def __init__(self) -> None:
        rows = map(json.loads, RECORDED_FILE.read_text("utf-8").splitlines())
        self._rows: Mapping[str, Mapping[str, Any]] = {row["claim"]: row for row in rows}

    async def complete(self, prompt: Prompt) -> Completion:
        """Return the recorded judgements of the claims; one that was not recorded is left out."""
        inputs: Any = prompt.inputs
        judgements = []
        for claim in inputs["claims"]:
            if row := self._rows.get(claim["text"]):
                words = row["words"]
                deciding = (one["id"] for one in inputs["passages"] if words and words in one["text"])
                judgements.append({**row, "claim": claim["id"], "passage": next(deciding, NO_PASSAGE)})
        return Completion(json.dumps({"judgements": judgements}), self.name)


async def judge_by_recorded_model(claims: Sequence[LabelledClaim], kit: Kit) -> list[Claim]:
    """Return the claims with their judgements, in order, as the product gives them with that chat model."""
    return await labelled_claims.judge_labelled_claims(claims, replace(kit, judge=ChatJudge(RecordedJudgeModel())))


async def _print_report(half: str = "final") -> None:
    claims = labelled_claims.load_labelled_claims(FOLDER / f"{half}.jsonl")
    kit = assembly.build_in_memory_kit()
    judged = await judge_by_recorded_model(claims, kit)
    await kit.close()
    print(labelled_claims.format_findings(claims, judged))
    print(f"\n{len(claims)} claims, AUC of support {labelled_claims.compute_support_auc(claims, judged):.3f}")
    for one, claim in labelled_claims.list_misjudged_claims(claims, judged, "all"):
        print(f"\n{one.label} {one.kind}: {'; '.join(claim.reasons)}\n  {one.text}")


if __name__ == "__main__":
    asyncio.run(_print_report(*sys.argv[1:]))
