"""The comparison of recorded traffic with the emulator, on a recording made here."""

import json
from pathlib import Path
from typing import Any

import pytest

from evals.search_recordings import read_body, read_exchanges, replay

INDEX = {"name": "rooms", "fields": [{"name": "id", "type": "Edm.String", "key": True}]}


def record(path: Path, *replies: tuple[str, str, Any, int, Any]) -> Path:
    """Write exchanges (method, path, body, status, reply) as the recorders of the SDKs do."""
    entries = [
        {
            "RequestUri": f"https://x.search.windows.net{where}?api-version=2020-06-30",
            "RequestMethod": method,
            "RequestHeaders": {"Accept": "application/json"},
            "RequestBody": json.dumps(body),
            "StatusCode": status,
            "ResponseHeaders": {"Content-Type": "application/json", "date": f"Mon, 02 Mar 2026 10:00:0{n} GMT"},
            "ResponseBody": json.dumps(reply),
        }
        for n, (method, where, body, status, reply) in enumerate(replies)
    ]
    path.write_text(json.dumps({"Entries": entries}))
    return path


def test_a_reply_of_another_status_type_or_length_is_told_and_what_is_not_done_is_named(tmp_path: Path) -> None:
    shelf = "/indexes('rooms')/docs/$count"
    path = record(
        tmp_path / "made.json",
        ("POST", "/indexes", INDEX, 400, {}),
        ("GET", "/indexes", None, 200, {"value": []}),
        ("POST", "/indexes('rooms')/docs/search.permissions", {}, 200, {}),
        ("GET", shelf, None, 200, 0),
    )
    made, listed, permissions, counted = replay("made", read_exchanges(path))
    assert made.differences[0].startswith("status 201, recorded 400")
    assert any("1 items, recorded 0 items" in difference for difference in listed.differences)
    assert permissions.refused
    assert not any(difference.startswith("status") for difference in counted.differences)


@pytest.mark.parametrize("body", ['{"a": 1}', "eyJhIjogMX0=", '\ufeff{"a": 1}'])
def test_a_body_is_read_as_each_recorder_kept_it(body: str) -> None:
    assert read_body(body) == {"a": 1}


def test_what_was_sent_to_a_service_whose_name_was_taken_out_is_replayed(tmp_path: Path) -> None:
    path = record(tmp_path / "made.json", ("GET", "/indexes", None, 200, {"value": []}))
    path.write_text(path.read_text().replace("x.search.windows.net", "endpoint"))
    assert len(read_exchanges(path)) == 1
    path.write_text(path.read_text().replace("https://endpoint", "https://elsewhere"))
    assert read_exchanges(path) == []
