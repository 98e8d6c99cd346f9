"""Records of two shapes to proposals with their stages."""

import json
from pathlib import Path

import pytest

from rag_core.core.errors import InvalidRequest
from rag_core.proposals.records import STAGE_NAMES, STATUS_SYNONYMS, STATUSES, normalize_status, parse_proposal
from tests.proposal_records import AIP, SMALL

AAVE = Path(__file__).parents[1] / "data" / "proposals" / "aave.jsonl"


def test_a_proposal_has_the_stages_that_its_record_has() -> None:
    """S2-11, S2-13, S2-22: what sources spell differently is spelt alike."""
    proposal = parse_proposal(AIP)
    assert (proposal.id, proposal.title, proposal.author) == ("aip-7", "Fund the gearbox audit", "Ann")
    assert (proposal.created, proposal.updated) == ("2024-01-05 10:00 UTC", "2024-01-15")
    assert [stage.name for stage in proposal.stages] == list(STAGE_NAMES)
    assert [stage.status for stage in proposal.stages] == ["active", "closed", "executed"]
    assert [stage.source_id for stage in proposal.stages] == ["21001", "0xabc", "9000"]
    assert proposal.stages[1].facts == {
        "voting begins": "2024-01-08",
        "deadline": "2024-01-15 14:00 UTC",
        "options": "For: 1,200.5 (80 %); Against: 299.5 (20 %)",
    }
    assert "Bob wrote: The brake budget is too high." in proposal.stages[0].body


def test_a_record_of_the_corpus_is_read_as_it_lies() -> None:
    """S2-11: templates' TODOs and "Direct-to-AIP" are no stages."""
    found = {(p := parse_proposal(json.loads(line))).id: p for line in AAVE.read_text("utf-8").splitlines()}
    fxs = found["aip-20231025-AddFXSToEthereumV3"]
    assert (fxs.title, fxs.created, fxs.category) == ("Add FXS to Ethereum V3", "2023-10-25", "AaveV3Ethereum")
    assert [(stage.name, stage.source_id) for stage in fxs.stages] == [("forum", "15112")]
    stages = {id: [stage.name for stage in proposal.stages] for id, proposal in found.items()}
    assert stages["aip-20240115-AaveV1Deprecation"] == ["forum", "snapshot"]
    assert stages["aip-20240424-StablecoinIRUpdates"] == ["forum"]
    assert stages["aip-20231103-TestEModesUpdate"] == []


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ("Active", "active"),
        ("CANCELLED", "canceled"),
        ("pending_execution", "queued"),
        ("passed", "succeeded"),
        ("Not started", "pending"),
        *((nothing, "unknown") for nothing in ("", None, "in dispute")),
    ],
)
def test_a_status_has_one_spelling(said: str | None, known: str) -> None:
    """S2-22, S2-37."""
    assert normalize_status(said) == known


def test_every_status_that_is_stored_can_be_filtered_by() -> None:
    """S2-37: the allowlist covers all that normalizing gives."""
    assert {normalize_status(word) for word in STATUS_SYNONYMS} | {normalize_status(word) for word in STATUSES} == set(
        STATUSES
    )


def test_a_status_that_is_not_known_is_remarked_on() -> None:
    """S2-22."""
    assert parse_proposal(SMALL).stages[0].remarks == ("the forum status “in dispute” is not known",)
    assert parse_proposal(AIP).stages[0].remarks == ()


@pytest.mark.parametrize("id", ["", None, "a:b", "a/b", "x" * 111])
def test_an_id_that_cannot_be_part_of_a_key_is_refused(id: str | None) -> None:
    """S2-14."""
    with pytest.raises(InvalidRequest, match="id"):
        parse_proposal({**SMALL, "id": id})


@pytest.mark.parametrize("record", [{"id": "a"}, {"_id": "a"}, {"_id": "a", "metadata": 3}, {"id": "a", "forum": "x"}])
def test_a_bare_record_is_a_proposal_without_stages(record: dict[str, object]) -> None:
    assert (parse_proposal(record).title, parse_proposal(record).stages) == ("Untitled", ())
