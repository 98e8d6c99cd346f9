"""A demo of every function over HTTP on this machine: it indexes a folder, asks about it and checks the printed places.

Run `make demo` or `make demo DOCS=folder`. `make demo-azure` uses the clients of a deployed app with emulated Azure
services. Each printed passage is looked up in the file itself, on the page and in the lines that the reply names; the
exit status is 1 when one is missing there.
"""

import argparse
import json
import re
import sys
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import fill
from typing import Any

from charset_normalizer import from_path
from pypdf import PdfReader

from local_emulator import host
from local_emulator.azure import describe_addresses, serve_azure_services
from rag_core.answering.citation_styles import to_printable_line
from rag_core.core import settings

HERE = Path(__file__).parent
LINE_BASED_SUFFIXES = {".txt", ".md", ".csv"}  # the lines in a reply are lines of the file
Reply = Mapping[str, Any]


@dataclass(frozen=True)
class DemoQuestions:
    """The questions for a folder."""

    question: str
    facet_question: str
    entity: str | None


@dataclass(frozen=True)
class ApiClient:
    """A client of the functions of the emulator at `address`."""

    address: str

    def post(self, function: str, **body: object) -> Reply:
        """Return the reply, also of a refused request (`success` is false); exit when the server fails."""
        with closing(HTTPConnection(self.address, timeout=230)) as connection:
            headers = {"Content-Type": "application/json"}
            connection.request("POST", f"/api/{function}", json.dumps(body), headers)
            response = connection.getresponse()
            reply = dict(json.load(response))
        if response.status >= 500:
            sys.exit(f"demo: {function} failed: {reply['error']['message']}")
        return reply

    def call(self, function: str, **body: object) -> Reply:
        """Return the reply of a request that must succeed; exit when it is refused."""
        reply = self.post(function, **body)
        if not reply["success"]:
            sys.exit(f"demo: {function} refused the request: {reply['error']['message']}")
        return reply


@dataclass
class SourceCheck:
    """A check of printed passages against the files, which are read without the code of this project."""

    folder: Path
    found_count: int = 0
    missing: list[str] = field(default_factory=list)

    def mark(self, text: str, source: str, page: int | None, lines: list[int] | None) -> str:
        """Return ✓ when the text begins on this page or is in these lines, else ✗; "" when neither is known."""
        path = self.folder / source
        text = text.partition(" | ")[0]  # not every reader of a page gives a table row by row
        if page is not None:
            is_found = self._begins_on_page(text, path, page)
        elif lines is not None and path.suffix.lower() in LINE_BASED_SUFFIXES:
            is_found = self._is_in_lines(text, path, *lines)
        else:
            return ""
        self.found_count += is_found
        if not is_found:
            self.missing.append(f"{source}, page {page}, lines {lines}: {text}")
        return "✓" if is_found else "✗"

    def _begins_on_page(self, text: str, path: Path, page: int) -> bool:
        pages = [page.extract_text() for page in PdfReader(path).pages[page - 1 : page + 1]]
        return 0 <= normalize_text("".join(pages)).find(normalize_text(text)) < len(normalize_text(pages[0]))

    def _is_in_lines(self, text: str, path: Path, first: int, last: int) -> bool:
        lines = str(from_path(path).best()).splitlines()
        cells = remove_column_names(text, lines[0]) if path.suffix.lower() == ".csv" else text
        return normalize_text(cells) in normalize_text("".join(lines[first - 1 : last]))


def main() -> int:
    """Run the demo; return 0 when every printed passage is where the reply says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--docs", type=Path, default=HERE, help="the folder to index (default: examples)")
    parser.add_argument("--azure", action="store_true", help="use emulated Azure services with the real clients")
    options = parser.parse_args()
    folder = options.docs.resolve()
    files = sorted(path for path in folder.rglob("*") if path.is_file() and is_document(path.relative_to(folder)))
    if not files:
        print(f"demo: {folder} has no files", file=sys.stderr)
        return 1
    check = SourceCheck(folder)
    with TemporaryDirectory(prefix="rag-demo-") as data, run_emulator(Path(data), azure=options.azure) as api:
        print(f"The emulator runs at {api.address}. Its data folder is {data}, which is deleted at the end.")
        run_demo(api, check, files)
    return print_check_result(check)


def run_demo(api: ApiClient, check: SourceCheck, files: list[Path]) -> None:
    """Call each function and print what it returns."""
    document_ids = index_files(api, check.folder, files)
    if not document_ids:
        print("\nNo file could be indexed, so there is nothing to ask about.")
        return
    questions = choose_questions(api, check.folder, document_ids)
    best_document_id = consult(api, check, questions.question, "advanced", max_chars=200)
    for pipeline in ("standard", "rerank"):
        consult(api, check, questions.question, pipeline, max_chars=60)
    count_facets(api, questions.facet_question)
    list_neighbours(api, questions.entity)
    summary = summarize_document(api, best_document_id or document_ids[0])
    verify_summary(api, check, summary)
    answer_question(api, check, questions.question)


def choose_questions(api: ApiClient, folder: Path, document_ids: list[str]) -> DemoQuestions:
    """Return prepared questions for the examples; for another folder, questions about its most frequent entity."""
    if folder == HERE:
        return DemoQuestions(
            "What does P0700 mean and what should be checked first?", "How many unique DTC codes?", "P0700"
        )
    top = api.post("graph_query", operation="top", limit=1)["nodes"]
    if not top:
        summary = api.post("get_document_summary", document_id=document_ids[0])["summary"]
        return DemoQuestions(summary[:200] or "What is this about?", "How many unique entity codes?", None)
    entity = top[0]
    return DemoQuestions(
        f"What is said about {entity['id']}?", f"How many unique {entity['type']} values?", entity["id"]
    )


def index_files(api: ApiClient, folder: Path, files: list[Path]) -> list[str]:
    """Index each file and return the ids of the documents."""
    print_title("index_document", f"{len(files)} files of {folder}")
    document_ids = []
    for path in files:
        source = path.relative_to(folder).as_posix()
        content = b64encode(path.read_bytes()).decode()
        reply = api.post("index_document", content_base64=content, filename=path.name, source=source)
        if reply["success"]:
            pages = f", {format_count(reply['pages'], 'page')}" if reply["pages"] else ""
            passages = format_count(reply["chunks"], "passage")
            print(f"  indexed  {source}: {passages}{pages}, extractor {reply['extractor']}")
            document_ids.append(reply["document_id"])
        else:
            print(f"  refused  {source}: {reply['error']['message']}")
    return document_ids


def consult(api: ApiClient, check: SourceCheck, question: str, pipeline: str, *, max_chars: int) -> str | None:
    """Print the best three passages of a pipeline with their places; return the document id of the best one."""
    print_title(f"consult_rag, {pipeline}", question)
    start = time.perf_counter()
    reply = api.call("consult_rag", query=question, pipeline=pipeline, top_k=3)
    print(f"  {1000 * (time.perf_counter() - start):.0f} ms; queries: {', '.join(reply['queries_used'])}")
    for rank, document in enumerate(reply["documents"], start=1):
        place = document["metadata"]
        text = shorten(document["content"], max_chars)
        mark = check.mark(text, place["source"], place["page"], place["lines"])
        print(f"  {rank}. {document['title']} · {format_place(place)} {mark}{format_grade(document)}\n{indent(text)}")
    print_if_empty(reply["documents"], "No passages were found.")
    for answer in reply["semantic_answers"][:1]:
        print(f"  Possible answer ({answer['score']:.2f}):\n{indent(shorten(answer['text'], max_chars))}")
    for degradation in reply["degraded"]:
        print(f"  Degraded: {degradation['step']}: {degradation['reason']} (instead: {degradation['fallback']})")
    return next((document["metadata"]["document_id"] for document in reply["documents"]), None)


def count_facets(api: ApiClient, question: str) -> None:
    """Print the field that a question counts, its number of distinct values and the most frequent ones."""
    print_title("consult_rag, facets", question)
    reply = api.call("consult_rag", query=question, pipeline="facets")
    for name, total in reply["facet_totals"].items():
        most_frequent = ", ".join(f"{bucket['value']} ({bucket['count']})" for bucket in reply["facets"][name][:8])
        print(f"  {name}: {format_count(total, 'distinct value')}; most frequent: {most_frequent}")
    print_if_empty(reply["facet_totals"], "The question names no field of the index.")
    for warning in reply["warnings"]:
        print(f"  Note: {warning['message']}")


def list_neighbours(api: ApiClient, entity: str | None) -> None:
    """Print the entities that occur in the same passages as an entity."""
    print_title("graph_query, neighbors", entity or "")
    if entity is None:
        print("  The documents have no entities.")
        return
    reply = api.call("graph_query", operation="neighbors", entity=entity, limit=8)
    types = {node["id"]: node["type"] for node in reply["nodes"]}
    for edge in reply["edges"]:
        other = edge["target"] if edge["source"] == entity else edge["source"]
        print(f"  {entity} — {other} ({types[other]}): {format_count(edge['count'], 'passage')} in common")
    print_if_empty(reply["edges"], f"No other entity occurs with {entity}.")


def summarize_document(api: ApiClient, document_id: str) -> str:
    """Print and return the summary of a document."""
    reply = api.call("get_document_summary", document_id=document_id)
    print_title("get_document_summary", f"{reply['title']} ({reply['origin']})")
    print(fill(reply["summary"], 96, initial_indent="  ", subsequent_indent="  "))
    return str(reply["summary"])


def verify_summary(api: ApiClient, check: SourceCheck, summary: str) -> None:
    """Verify a summary, and a false sentence added to it, against the documents; print the verdicts."""
    text = f"{summary[:10_000]}\n\nThe moon is made of green cheese."
    print_title("extract_citations", "the summary above and one sentence that no document supports")
    for claim in api.call("extract_citations", text=text)["claims"]:
        print(f"  {claim['verdict']}: {shorten(claim['text'])}")
        for citation in claim["citations"][:1]:
            mark = check.mark(citation["quote"], citation["source"], citation["page"], citation["lines"])
            print(f"      {citation['title']} · {format_place(citation)} {mark}")


def answer_question(api: ApiClient, check: SourceCheck, question: str) -> None:
    """Print an answer, sentence by sentence with its citations, and the place of each citation."""
    print_title("ask", question)
    reply = api.call("rag/ask", query=question)
    sentences = [" ".join([claim["text"], *(c["label"] for c in claim["citations"])]) for claim in reply["claims"]]
    print(indent(to_printable_line(" ".join(sentences) or reply["answer"])))
    for citation in reply["citations"]:
        mark = check.mark(citation["quote"], citation["source"], citation["page"], citation["lines"])
        print(f"  {citation['label']} {citation['verdict']}: {citation['title']} · {format_place(citation)} {mark}")
    confidence = reply["confidence"]
    inputs = ", ".join(f"{name} {value:.2f}" for name, value in confidence["inputs"].items())
    print(f"  Confidence {confidence['value']:.2f}: {inputs}")


def print_check_result(check: SourceCheck) -> int:
    """Print how many passages are where the reply says and which are not; return 1 when one is missing."""
    total = check.found_count + len(check.missing)
    print(f"\n{check.found_count} of {total} passages are where the reply says (checked in the files).")
    for missing in check.missing:
        print(f"  ✗ {missing}")
    return 1 if check.missing else 0


def is_document(path: Path) -> bool:
    """Return whether a path is neither hidden nor a Python file."""
    return not any(part.startswith((".", "__")) for part in path.parts) and path.suffix != ".py"


def format_grade(document: Reply) -> str:
    """Format the grade of a hit that LLM grading scored; "" for another hit."""
    grade = document["rerank_score"]
    return "" if grade is None else f" · grade {grade:.1f} of 10"


def format_count(count: int, noun: str) -> str:
    """Format a count with its noun, as in "1 passage" and "2 passages"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def shorten(text: str, max_chars: int = 200) -> str:
    """Return the first words of a text on one line."""
    line = to_printable_line(text)
    return line if len(line) <= max_chars else line[:max_chars].rsplit(" ", 1)[0]


def normalize_text(text: str) -> str:
    """Return the letters and digits of a text, because readers of the same page differ in line breaks and hyphens."""
    return re.sub(r"\x1b\[[\d;]*m|[\W_]+", "", text.casefold())


def remove_column_names(row: str, header: str) -> str:
    """Return the cells of a table row without the column names, which are only in the first line of the file."""
    names = "|".join(re.escape(name.strip()) for name in re.split(r"[,;\t|]", header))
    return re.sub(rf"(?:^|\s)(?:{names}): ", " ", row)


def format_place(place: Reply) -> str:
    """Format the source, page and lines of a passage or citation."""
    page = f", p. {place['page']}" if place["page"] else ""
    first, last = place["lines"] or (0, 0)
    lines = f", line {first}" if first == last else f", lines {first}-{last}"
    return f"{place['source']}{page}{lines if first else ''}"


def print_title(function: str, subject: str) -> None:
    """Print the title of a section."""
    print(f"\n== {function}: {subject}")


def indent(text: str) -> str:
    """Wrap and indent a text."""
    return fill(text, 96, initial_indent="     ", subsequent_indent="     ")


def print_if_empty(items: object, message: str) -> None:
    """Print a message where a section has no items."""
    if not items:
        print(f"  {message}")


@contextmanager
def run_emulator(data: Path, *, azure: bool) -> Iterator[ApiClient]:
    """Run the local emulator on a free loopback port with this data folder while the block runs."""
    with (serve_azure_services if azure else nullcontext)(
        replace(settings.load_settings(), data_dir=data)
    ) as chosen_settings:
        if azure:
            print(f"Emulated Azure services:\n{describe_addresses(chosen_settings)}")
        with host.run_service(chosen_settings) as url:
            yield ApiClient(url.removeprefix("http://"))


if __name__ == "__main__":
    sys.exit(main())
