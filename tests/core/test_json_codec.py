"""The stored formats: what is written stays as it was, and what was written before is read."""

import json
from typing import Any

import pytest

from rag_core.core import json_codec as codec
from rag_core.core.model import Block, Entity, Span

SPAN = Span(0, 9, 3, 12, 14, (1.0, 2.5, 3.0, 4.0), ("Faults", "Codes"))
BARE_SPAN = Span(0, 9, None, 1, 1)
BLOCK = Block(
    "a | b", "row", 4, 4, 2, (1.0, 2.0, 3.0, 4.0), ("Faults",), {"code": "P0700"}, ((1.0, 2.0, 3.0, 4.0),), "ii"
)
SPAN_OBJECT = (
    '{"start": 0, "end": 9, "page": 3, "line_start": 12, "line_end": 14, "bbox": [1.0, 2.5, 3.0, 4.0], '
    '"section": ["Faults", "Codes"]}'
)
BLOCK_OBJECT = (
    '{"text": "a | b", "kind": "row", "line_start": 4, "line_end": 4, "page": 2, "bbox": [1.0, 2.0, 3.0, 4.0], '
    '"headings": ["Faults"], "fields": {"code": "P0700"}, "boxes": [[1.0, 2.0, 3.0, 4.0]], "page_label": "ii"}'
)


@pytest.mark.parametrize(
    ("to_json", "from_json", "record", "text"),
    [
        (codec.span_to_json, codec.span_from_json, SPAN, SPAN_OBJECT),
        (
            codec.span_to_json_array,
            codec.span_from_json_array,
            SPAN,
            '[0, 9, 3, 12, 14, [1.0, 2.5, 3.0, 4.0], ["Faults", "Codes"]]',
        ),
        (codec.span_to_json_array, codec.span_from_json_array, BARE_SPAN, "[0, 9, null, 1, 1, null, []]"),
        (codec.entity_to_json, codec.entity_from_json, Entity("dtc", "P0700"), '{"type": "dtc", "value": "P0700"}'),
        (codec.entity_to_json_array, codec.entity_from_json_array, Entity("dtc", "P0700"), '["dtc", "P0700"]'),
        (codec.block_to_json, codec.block_from_json, BLOCK, BLOCK_OBJECT),
    ],
)
def test_a_stored_record_is_written_and_read_as_ever(to_json: Any, from_json: Any, record: object, text: str) -> None:
    assert json.dumps(to_json(record)) == text
    assert from_json(json.loads(text)) == record


def test_a_span_that_was_stored_before_spans_had_sections_is_read() -> None:
    assert codec.span_from_json_array([0, 9, None, 1, 1, None]) == BARE_SPAN


def test_a_locator_is_stored_where_there_is_one_and_comes_back() -> None:
    span, block = Span(0, 9, 2, 3, 3, locator="Budget!A7:D7"), Block("a", "row", 3, 3, locator="slide 3")
    assert codec.span_from_json(json.loads(json.dumps(codec.span_to_json(span)))) == span
    assert codec.span_from_json_array(json.loads(json.dumps(codec.span_to_json_array(span)))) == span
    assert codec.block_from_json(json.loads(json.dumps(codec.block_to_json(block)))) == block


@pytest.mark.parametrize("missing", ["headings", "boxes", "bbox"])
def test_a_block_without_one_of_its_parts_is_no_block(missing: str) -> None:
    fields = {name: value for name, value in json.loads(BLOCK_OBJECT).items() if name != missing}
    with pytest.raises(KeyError):
        codec.block_from_json(fields)
