"""Replay recorded traffic of Azure AI Search through its emulator and list what differs: status, headers, body.

    python -m evals.search_recordings FOLDER [--show]

The folder holds the recordings of an SDK's tests as that SDK's repository has them, for example `sdk/search/
Microsoft.Azure.Search/tests/SessionRecords` of Azure/azure-sdk-for-net (2020) or a folder of Azure/azure-sdk-assets.
Each file is replayed against a service of its own. Compared are the status, the headers that clients read, the names
and types of the body at every depth, and the code of an error; texts, scores, times and sizes are the service's own.
"""

import argparse
import base64
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from werkzeug.test import Client, TestResponse

from local_emulator.search_service import SearchService, WordRanker

COMPARED_HEADERS = ("Content-Type", "ETag", "Location", "OData-Version", "Preference-Applied", "Retry-After")
SENT_HEADERS = ("accept", "if-match", "if-none-match", "prefer", "x-ms-query-source-authorization")
CODES_SINCE = 2021  # the service gave errors a code, and details, later than the oldest recordings
ETAG = re.compile(r'"0x[0-9A-F]+"')
KEY = "k"


@dataclass(frozen=True, slots=True)
class Exchange:
    """A recorded request, and the reply that it got."""

    method: str
    path: str
    query: str
    sent_headers: Mapping[str, str]
    body: Any
    status: int
    headers: Mapping[str, str]
    reply: Any

    @property
    def time(self) -> datetime:
        return (
            parsedate_to_datetime(self.headers["date"]) if "date" in self.headers else datetime.min.replace(tzinfo=UTC)
        )

    @property
    def route(self) -> str:
        return re.sub(r"\('[^']*'\)", "('')", self.path)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What differs between the recorded reply and the emulator's; `refused` names what it does not do (501)."""

    source: str
    exchange: Exchange
    differences: Sequence[str]
    refused: str = ""


def read_exchanges(path: Path) -> list[Exchange]:
    """Read the exchanges with the search service in the order of their times; those with others are left out.

    Some recorders group equal requests. Within one second the order stays that of the file.
    """
    entries = json.loads(path.read_text("utf-8-sig")).get("Entries") or ()
    exchanges = [exchange for entry in entries if (exchange := _read_exchange(entry))]
    return sorted(exchanges, key=lambda one: one.time)


def _read_exchange(entry: Mapping[str, Any]) -> Exchange | None:
    address = urlsplit(entry["RequestUri"])
    if address.netloc not in ("", "endpoint") and ".search." not in address.netloc:  # JavaScript's have no names
        return None
    if "/keys/" in address.path:
        return None
    if not address.netloc and address.path.startswith("/subscriptions"):
        return None
    sent = {name.lower(): _join(value) for name, value in entry["RequestHeaders"].items()}
    return Exchange(
        entry["RequestMethod"],
        re.sub("/+", "/", address.path),
        address.query,
        {name: sent[name] for name in SENT_HEADERS if name in sent},
        read_body(entry.get("RequestBody")),
        entry["StatusCode"],
        {name.lower(): _join(value) for name, value in entry["ResponseHeaders"].items()},
        read_body(entry.get("ResponseBody")),
    )


def _join(value: str | Sequence[str]) -> str:
    return value if isinstance(value, str) else ",".join(value)


def read_body(body: Any) -> Any:
    """Read a body as JSON, where it is that; some recorders kept it in base64, and some the byte order mark of 2022."""
    if not isinstance(body, str):
        return body
    try:
        text = base64.b64decode(body, validate=True).decode() if body.startswith("eyJ") else body.lstrip("\ufeff")
        return json.loads(text) if text.strip() else None
    except ValueError:
        return body


def replay(source: str, exchanges: Sequence[Exchange]) -> Iterator[Outcome]:
    """Send the requests in their order to a new service and compare each reply."""
    client = Client(SearchService(None, keys={KEY}, reranker=WordRanker()))
    etags: dict[str, str] = {}
    for exchange in exchanges:
        response = _send(exchange, client, etags)
        if response.status_code == 501:
            yield Outcome(source, exchange, ["501"], response.get_json()["error"]["message"])
            continue
        etags |= dict(zip(_list_etags(exchange.headers, exchange.reply), _list_response_etags(response), strict=False))
        yield Outcome(source, exchange, list(_compare(exchange, response)))


def _send(exchange: Exchange, client: Client, etags: Mapping[str, str]) -> TestResponse:
    """Send a request with the etags that this service gave where the recorded one gave others."""
    return client.open(
        f"{exchange.path}?{exchange.query}",
        method=exchange.method,
        data=json.dumps(exchange.body).encode() if exchange.body else b"",
        headers={
            "api-key": KEY,
            "Content-Type": "application/json",
            **{name: replace_etags(text, etags) for name, text in exchange.sent_headers.items()},
        },
    )


def replace_etags(text: str, etags: Mapping[str, str]) -> str:
    return ETAG.sub(lambda found: etags.get(found[0], found[0]), text)


def _list_etags(headers: Mapping[str, str], reply: Any) -> list[str]:
    return [headers["etag"].removeprefix("W/")] if "etag" in headers else re.findall(r'"0x[0-9A-F]+"', str(reply))


def _list_response_etags(response: TestResponse) -> list[str]:
    return [response.headers["ETag"]] if "ETag" in response.headers else re.findall(r'"0x[0-9A-F]+"', response.text)


def _compare(exchange: Exchange, response: TestResponse) -> Iterator[str]:
    if response.status_code != exchange.status:
        yield f"status {response.status_code}, recorded {exchange.status}: {response.text[:200]}"
        return
    for name in COMPARED_HEADERS if exchange.status < 400 and exchange.status != 204 else ("Content-Type",):
        found, wanted = response.headers.get(name), exchange.headers.get(name.lower())
        depth = 1 if exchange.status >= 400 else None  # the level of an error's metadata differs by year
        other = name == "Content-Type" and _read_media(found)[:depth] != _read_media(wanted)[:depth]
        if (found is None) != (wanted is None) or other:
            yield f"header {name}: {found!r}, recorded {wanted!r}"
    reply = read_body(response.text)
    if exchange.status >= 400 and exchange.time.year < CODES_SINCE and isinstance(reply, dict) and exchange.reply:
        reply = {"error": {"code": "", "message": reply["error"]["message"]}}
    yield from _compare_shapes(reply, exchange.reply)


def _read_media(content_type: str | None) -> list[str]:
    parts = [part.strip().lower() for part in (content_type or "").split(";")]
    return [part for part in parts if not part.startswith(("odata.streaming", "charset"))]


def describe_shape(value: Any, where: str = "") -> dict[str, set[str]]:
    """Describe what a body is made of: by path, the types that stand there; of lists the lengths; of an error its code.

    The items of a list share a path, since equals may come in any order.
    """
    if isinstance(value, dict):
        parts = [(item, f"{where}/{name}") for name, item in value.items()]
        kind = "object"
    elif isinstance(value, list):
        parts, kind = [(item, f"{where}[]") for item in value], f"{len(value)} items"
    else:
        parts, kind = [], value if where.endswith("/error/code") else _name_type(value)
    shape: dict[str, set[str]] = {where: {kind}}
    for item, path in parts:
        for inner, kinds in describe_shape(item, path).items():
            shape.setdefault(inner, set()).update(kinds)
    return shape


def _compare_shapes(found: Any, wanted: Any) -> Iterator[str]:
    here, recorded = describe_shape(found), describe_shape(wanted)
    for where in sorted(here.keys() | recorded.keys()):
        if here.get(where) != recorded.get(where):
            yield f"{where}: {_list_kinds(here, where)}, recorded {_list_kinds(recorded, where)}"


def _list_kinds(shape: Mapping[str, set[str]], where: str) -> str:
    return " or ".join(sorted(shape.get(where) or {"missing"}))


def _name_type(value: Any) -> str:
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--show", action="store_true", help="list each difference")
    parser.add_argument("--only", default="", help="a part of the path of the recordings to be replayed")
    args = parser.parse_args()
    paths = sorted(path for path in args.folder.rglob("*.json") if args.only in str(path))
    outcomes = [one for path in paths for one in replay(str(path.relative_to(args.folder)), read_exchanges(path))]
    _report(outcomes, shown=args.show)


def _report(outcomes: Sequence[Outcome], *, shown: bool) -> None:
    for one in outcomes if shown else ():
        if one.differences and not one.refused:
            print(f"{one.source}: {one.exchange.method} {one.exchange.route} {one.exchange.status}")
            for difference in one.differences:
                print(f"    {difference}")
    by_kind: dict[str, Counter[str]] = {}
    for one in outcomes:
        kind = "501" if one.refused else "differs" if one.differences else "equal"
        by_kind.setdefault(f"{one.exchange.method} {one.exchange.route} {one.exchange.status}", Counter())[kind] += 1
    for route, counts in sorted(by_kind.items()):
        print(f"{route:70} {dict(counts)}")
    total = sum(by_kind.values(), Counter())
    print(f"{len(outcomes)} exchanges of {len({one.source for one in outcomes})} recordings: {dict(total)}")


if __name__ == "__main__":
    main()
