"""Everything the product does, over HTTP and on this machine: index a folder, ask about it, check what is printed.

Run as `make demo`, or `make demo DOCS=folder`; `make demo-azure` does the same over emulated Azure services, with the
clients that a deployed app has. Each printed passage is looked for in the file itself, on the page
and in the lines that the reply names; one that is not there makes the exit status 1.
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
from local_emulator.azure import addresses, neighbours
from rag_core.answering.citation_styles import to_printable_line
from rag_core.core import settings

HERE = Path(__file__).parent
LINED = {".txt", ".md", ".csv"}  # their lines are the file's own
Reply = Mapping[str, Any]


@dataclass(frozen=True)
class Questions:
    """What to ask of a folder."""

    question: str
    facets: str
    entity: str | None


@dataclass(frozen=True)
class Api:
    """The functions of the emulator at `address`, called as any client would."""

    address: str

    def post(self, function: str, **body: object) -> Reply:
        """The reply, also of a refusal: `success` tells. A fault of the server's ends the demo."""
        with closing(HTTPConnection(self.address, timeout=230)) as connection:
            headers = {"Content-Type": "application/json"}
            connection.request("POST", f"/api/{function}", json.dumps(body), headers)
            response = connection.getresponse()
            reply = dict(json.load(response))
        if response.status >= 500:
            sys.exit(f"demo: {function} failed: {reply['error']['message']}")
        return reply


@dataclass
class Proof:
    """Holds what is printed against the files, opened anew and read without our own code."""

    folder: Path
    found: int = 0
    missing: list[str] = field(default_factory=list)

    def mark(self, words: str, source: str, page: int | None, lines: list[int] | None) -> str:
        """✓ when the words begin on this page or stand in these lines, ✗ when not; empty where neither is known."""
        path = self.folder / source
        words = words.partition(" | ")[0]  # a table is told row by row, which not every reader of the page does
        if page is not None:
            stands = self._begins_on(words, path, page)
        elif lines is not None and path.suffix.lower() in LINED:
            stands = self._stands_in(words, path, *lines)
        else:
            return ""
        self.found += stands
        if not stands:
            self.missing.append(f"{source}, page {page}, lines {lines}: {words}")
        return "✓" if stands else "✗"

    def _begins_on(self, words: str, path: Path, page: int) -> bool:
        pages = [read.extract_text() for read in PdfReader(path).pages[page - 1 : page + 1]]
        return 0 <= squeezed("".join(pages)).find(squeezed(words)) < len(squeezed(pages[0]))

    def _stands_in(self, words: str, path: Path, first: int, last: int) -> bool:
        lines = str(from_path(path).best()).splitlines()
        said = unnamed(words, lines[0]) if path.suffix.lower() == ".csv" else words
        return squeezed(said) in squeezed("".join(lines[first - 1 : last]))


def main() -> int:
    """0 when everything answered and every place printed is the right one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--docs", type=Path, default=HERE, help="the folder to index (default: examples)")
    parser.add_argument("--azure", action="store_true", help="over emulated Azure services, with the real clients")
    chosen = parser.parse_args()
    folder = chosen.docs.resolve()
    files = sorted(path for path in folder.rglob("*") if path.is_file() and wanted(path.relative_to(folder)))
    if not files:
        print(f"demo: no file in {folder}", file=sys.stderr)
        return 1
    proof = Proof(folder)
    with TemporaryDirectory(prefix="rag-demo-") as data, emulator(Path(data), azure=chosen.azure) as api:
        print(f"The emulator answers at {api.address}; its data are in {data} and go with it.")
        show(api, proof, files)
    return verdict(proof)


def show(api: Api, proof: Proof, files: list[Path]) -> None:
    """Call the functions, one after the other."""
    documents = index(api, proof.folder, files)
    if not documents:
        print("\nNothing could be indexed, so there is nothing to ask.")
        return
    chosen = questions(api, proof.folder, documents)
    best = consult(api, proof, chosen.question, "advanced", told=200)
    for pipeline in ("standard", "rerank"):
        consult(api, proof, chosen.question, pipeline, told=60)
    count(api, chosen.facets)
    draw(api, chosen.entity)
    summary = summarize(api, best or documents[0])
    cite(api, proof, summary)
    answer(api, proof, chosen.question)


def questions(api: Api, folder: Path, documents: list[str]) -> Questions:
    """Written beforehand for our own examples; of any other folder, about what stands in it most often."""
    if folder == HERE:
        return Questions(
            "What does P0700 mean and what should be checked first?", "How many unique DTC codes?", "P0700"
        )
    top = api.post("graph_query", operation="top", limit=1)["nodes"]
    if not top:
        summary = api.post("get_document_summary", document_id=documents[0])["summary"]
        return Questions(summary[:200] or "What is this about?", "How many unique entity codes?", None)
    entity = top[0]
    return Questions(f"What is said about {entity['id']}?", f"How many unique {entity['type']} values?", entity["id"])


def index(api: Api, folder: Path, files: list[Path]) -> list[str]:
    """Send each file; the ids of the documents that came of it."""
    title("index_document", f"{len(files)} files of {folder}")
    ids = []
    for path in files:
        source = path.relative_to(folder).as_posix()
        content = b64encode(path.read_bytes()).decode()
        reply = api.post("index_document", content_base64=content, filename=path.name, source=source)
        if reply["success"]:
            pages = f", {reply['pages']} pages" if reply["pages"] else ""
            print(f"  indexed  {source}: {reply['chunks']} passages{pages}, read as {reply['extractor']}")
            ids.append(reply["document_id"])
        else:
            print(f"  refused  {source}: {reply['error']['message']}")
    return ids


def consult(api: Api, proof: Proof, question: str, pipeline: str, told: int) -> str | None:
    """Ask, and print how the best three passages begin and where they stand. Gives the id of the best's document."""
    title(f"consult_rag, {pipeline}", question)
    began = time.perf_counter()
    reply = asked(api, "consult_rag", query=question, pipeline=pipeline, top_k=3)
    print(f"  {1000 * (time.perf_counter() - began):.0f} ms; asked as {', '.join(reply['queries_used'])}")
    for rank, document in enumerate(reply["documents"], start=1):
        place = document["metadata"]
        words = beginning(document["content"], told)
        mark = proof.mark(words, place["source"], place["page"], place["lines"])
        print(f"  {rank}. {document['title']} · {stand(place)} {mark}{graded(document)}\n{quoted(words)}")
    nothing(reply["documents"], "no passage bears on it")
    for answer in reply["semantic_answers"][:1]:
        print(f"  May answer it ({answer['score']:.2f}):\n{quoted(beginning(answer['text'], told))}")
    for lesser in reply["degraded"]:
        print(f"  Degraded: {lesser['step']}: {lesser['reason']} ({lesser['fallback']})")
    return next((document["metadata"]["document_id"] for document in reply["documents"]), None)


def count(api: Api, question: str) -> None:
    """A question about numbers: the field it means, how many values it has, the most frequent."""
    title("consult_rag, facets", question)
    reply = asked(api, "consult_rag", query=question, pipeline="facets")
    for name, total in reply["facet_totals"].items():
        most = ", ".join(f"{bucket['value']} ({bucket['count']})" for bucket in reply["facets"][name][:8])
        print(f"  {name}: {total} distinct; most often {most}")
    nothing(reply["facet_totals"], "no field of that name")
    for warning in reply["warnings"]:
        print(f"  Note: {warning['message']}")


def draw(api: Api, entity: str | None) -> None:
    """What an entity stands together with."""
    title("graph_query, neighbors", entity or "")
    if entity is None:
        nothing((), "no entity was found in these documents")
        return
    reply = asked(api, "graph_query", operation="neighbors", entity=entity, limit=8)
    types = {node["id"]: node["type"] for node in reply["nodes"]}
    for edge in reply["edges"]:
        other = edge["target"] if edge["source"] == entity else edge["source"]
        print(f"  {entity} — {other} ({types[other]}): together in {edge['count']} passages")
    nothing(reply["edges"], f"{entity} stands with no other")


def summarize(api: Api, document: str) -> str:
    """A document's summary."""
    reply = asked(api, "get_document_summary", document_id=document)
    title("get_document_summary", f"{reply['title']} ({reply['origin']})")
    print(fill(reply["summary"], 96, initial_indent="  ", subsequent_indent="  "))
    return str(reply["summary"])


def cite(api: Api, proof: Proof, summary: str) -> None:
    """Hold a summary, with a sentence of our own at the end, against the documents."""
    text = f"{summary[:10_000]}\n\nThe moon is made of green cheese."
    title("extract_citations", "the summary above, and one sentence that no document says")
    for claim in asked(api, "extract_citations", text=text)["claims"]:
        print(f"  {claim['verdict']}: {beginning(claim['text'])}")
        for found in claim["citations"][:1]:
            mark = proof.mark(found["quote"], found["source"], found["page"], found["lines"])
            print(f"      {found['title']} · {stand(found)} {mark}")


def answer(api: Api, proof: Proof, question: str) -> None:
    """An answer in sentences with their citations, and where the words of each citation stand."""
    title("ask", question)
    reply = asked(api, "rag/ask", query=question)
    sentences = [" ".join([claim["text"], *(c["label"] for c in claim["citations"])]) for claim in reply["claims"]]
    print(quoted(to_printable_line(" ".join(sentences) or reply["answer"])))
    for found in reply["citations"]:
        mark = proof.mark(found["quote"], found["source"], found["page"], found["lines"])
        print(f"  {found['label']} {found['verdict']}: {found['title']} · {stand(found)} {mark}")
    sure = reply["confidence"]
    inputs = ", ".join(f"{name} {value:.2f}" for name, value in sure["inputs"].items())
    print(f"  Confidence {sure['value']:.2f}: {inputs}")


def asked(api: Api, function: str, **body: object) -> Reply:
    """The reply; a refusal ends the demo, for nothing that it asks is wrong."""
    reply = api.post(function, **body)
    if not reply["success"]:
        sys.exit(f"demo: {function} refused: {reply['error']}")
    return reply


def verdict(proof: Proof) -> int:
    total = proof.found + len(proof.missing)
    print(f"\n{proof.found} of {total} passages stand where the reply says, looked up in the files themselves.")
    for missing in proof.missing:
        print(f"  ✗ {missing}")
    return 1 if proof.missing else 0


def wanted(path: Path) -> bool:
    """Documents, not this script, nor what is hidden."""
    return not any(part.startswith((".", "__")) for part in path.parts) and path.suffix != ".py"


def graded(document: Reply) -> str:
    grade = document["rerank_score"]
    return "" if grade is None else f" · grade {grade:.1f} of 10"


def beginning(text: str, longest: int = 200) -> str:
    """The first words, on one line."""
    flat = to_printable_line(text)
    return flat if len(flat) <= longest else flat[:longest].rsplit(" ", 1)[0]


def squeezed(text: str) -> str:
    """Letters and digits only: line breaks, hyphens and layout differ between readers of the same page."""
    return re.sub(r"\x1b\[[\d;]*m|[\W_]+", "", text.casefold())


def unnamed(row: str, header: str) -> str:
    """The cells of a row without the names of their columns, which stand in the file's first line only."""
    names = "|".join(re.escape(name.strip()) for name in re.split(r"[,;\t|]", header))
    return re.sub(rf"(?:^|\s)(?:{names}): ", " ", row)


def stand(place: Reply) -> str:
    page = f", p. {place['page']}" if place["page"] else ""
    first, last = place["lines"] or (0, 0)
    lines = f", line {first}" if first == last else f", lines {first}-{last}"
    return f"{place['source']}{page}{lines if first else ''}"


def title(what: str, about: str) -> None:
    print(f"\n== {what}: {about}")


def quoted(text: str) -> str:
    return fill(text, 96, initial_indent="     ", subsequent_indent="     ")


def nothing(shown: object, why: str) -> None:
    """Say so where a section has nothing to show."""
    if not shown:
        print(f"  Nothing to show: {why}.")


@contextmanager
def emulator(data: Path, *, azure: bool) -> Iterator[Api]:
    """The local emulator on a free loopback port, with this data folder and stopped at the end."""
    with (neighbours if azure else nullcontext)(replace(settings.load_settings(), data_dir=data)) as chosen:
        if azure:
            print(f"Its neighbours, over the network as on Azure:\n{addresses(chosen)}")
        with host.running_with(chosen) as url:
            yield Api(url.removeprefix("http://"))


if __name__ == "__main__":
    sys.exit(main())
