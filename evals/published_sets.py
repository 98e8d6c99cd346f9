"""`python -m evals.published_sets FORM SOURCE FOLDER`: write a published set as a folder that `rag eval run` reads.

SOURCE is what the publisher offers, fetched by hand, and FOLDER is new. None of the sets is part of the repository:

- vaswani: the NPL collection, https://ir.dcs.gla.ac.uk/resources/test_collections/npl/, free for research. SOURCE is a
  folder with doc-text, query-text and rlv-ass.
- hotpot: HotpotQA, distractor setting, https://hotpotqa.github.io, CC BY-SA 4.0. SOURCE is the JSON file. The corpus is
  every paragraph of every question, each title once.
- mtrag: MTRAG-UN, https://github.com/IBM/mt-rag-benchmark, Apache 2.0. SOURCE is mtragun-human/generation_tasks/
  reference.jsonl. The corpus is every reference passage of a task, so it is far smaller than the published corpora.
- financebench: https://github.com/patronus-ai/financebench, CC BY-NC 4.0. SOURCE is a folder with data/ and pdfs/. Of
  the filings with a question that are there, FILINGS are taken, by the SHA-256 of their names.

SciFact is published as such a folder, https://github.com/allenai/scifact, CC BY-NC 2.0.
"""

import argparse
import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rag_core.evaluation import beir

FILINGS = 28
ANSWERED_FROM_PASSAGES = ("ANSWERABLE", "PARTIAL")  # the tasks that the published judgements have

Record = Mapping[str, Any]
Judgement = tuple[str, str]  # the ids of a question and of a relevant document


def convert_vaswani(source: Path, folder: Path) -> None:
    """Write the abstracts, questions and judgements of the NPL collection."""
    documents, queries, judged = (
        dict(_read_numbered_records(source / name)) for name in ("doc-text", "query-text", "rlv-ass")
    )
    _write_folder(
        folder,
        ({"_id": id, "title": "", "text": text} for id, text in documents.items()),
        ({"_id": id, "text": text.capitalize()} for id, text in queries.items()),
        ((query, document) for query, listed in judged.items() for document in listed.split()),
    )


def _read_numbered_records(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the number and the text of each record: a line with the number, lines of text, a line with a slash."""
    for record in re.split(r"^\s*/\s*$", path.read_text("utf-8"), flags=re.MULTILINE):
        number, _, text = record.strip().partition("\n")
        if number:
            yield number.strip(), " ".join(text.split())


def convert_hotpot(source: Path, folder: Path) -> None:
    """Write the paragraphs of all questions as documents; those that support an answer are relevant."""
    questions = [_name_columns(question) for question in json.loads(source.read_text("utf-8"))]
    paragraphs = {title: "".join(lines) for question in questions for title, lines in question["context"]}
    ids = {title: f"d{number}" for number, title in enumerate(paragraphs)}
    _write_folder(
        folder,
        ({"_id": ids[title], "title": title, "text": text} for title, text in paragraphs.items()),
        ({"_id": f"q{number}", "text": question["question"]} for number, question in enumerate(questions)),
        (
            (f"q{number}", ids[title])
            for number, question in enumerate(questions)
            for title in dict.fromkeys(title for title, _ in question["supporting_facts"])
        ),
    )


def _name_columns(question: Record) -> Record:
    """Return a question with pairs in "context" and "supporting_facts", which some copies have as two columns."""
    pairs = {
        name: list(zip(*question[name].values(), strict=True)) if isinstance(question[name], dict) else question[name]
        for name in ("context", "supporting_facts")
    }
    return {**question, **pairs}


def convert_mtrag(source: Path, folder: Path) -> None:
    """Write the reference passages, and each task's conversation with its answerability and collection."""
    tasks = list(beir.read_jsonl_records(source))
    passages = {passage["document_id"]: passage["text"] for task in tasks for passage in task["contexts"]}
    _write_folder(
        folder,
        ({"_id": id, "title": "", "text": text.strip()} for id, text in passages.items()),
        map(_build_conversation, tasks),
        (
            (task["task_id"], passage["document_id"])
            for task in tasks
            if task["answerability"][0] in ANSWERED_FROM_PASSAGES
            for passage in task["contexts"]
        ),
    )


def _build_conversation(task: Record) -> Record:
    turns = (f"|{turn['speaker']}|: {turn['text'].strip()}" for turn in task["input"])
    metadata = {"answerability": task["answerability"][0].lower(), "collection": task["Collection"]}
    return {"_id": task["task_id"], "text": "\n".join(turns), "metadata": metadata}


def convert_financebench(source: Path, folder: Path) -> None:
    """Write the questions on the filings that `choose_filings` names, with the evidence's pages, and copy the PDFs."""
    records = list(beir.read_jsonl_records(source / "data" / "financebench_open_source.jsonl"))
    filings = choose_filings(source / "pdfs", records)
    asked = [record for record in records if record["doc_name"] in filings]
    _write_folder(
        folder,
        (),
        ({"_id": record["financebench_id"], "text": record["question"]} for record in asked),
        (
            (record["financebench_id"], f"{record['doc_name']}.pdf#page={page + 1}")  # published from 0
            for record in asked
            for page in sorted({evidence["evidence_page_num"] for evidence in record["evidence"]})
        ),
    )
    (folder / "pdfs").mkdir()
    for name in filings:
        shutil.copyfile(source / "pdfs" / f"{name}.pdf", folder / "pdfs" / f"{name}.pdf")


def choose_filings(pdfs: Path, records: Iterable[Record]) -> list[str]:
    """Return FILINGS names of filings with a question whose PDF is there, by the SHA-256 of the name."""
    names = {str(record["doc_name"]) for record in records}
    there = [name for name in names if (pdfs / f"{name}.pdf").is_file()]
    return sorted(there, key=lambda name: hashlib.sha256(name.encode()).hexdigest())[:FILINGS]


FORMS: Mapping[str, Callable[[Path, Path], None]] = {
    "vaswani": convert_vaswani,
    "hotpot": convert_hotpot,
    "mtrag": convert_mtrag,
    "financebench": convert_financebench,
}


def _write_folder(
    folder: Path, documents: Iterable[Record], queries: Iterable[Record], judgements: Iterable[Judgement]
) -> None:
    folder.mkdir(parents=True)
    _write_records(folder / "corpus.jsonl", documents)
    _write_records(folder / beir.QUERIES_FILE, queries)
    rows = (f"{query}\t{document}\t1" for query, document in judgements)
    (folder / "qrels.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows, ""]), "utf-8")


def _write_records(path: Path, records: Iterable[Record]) -> None:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("form", choices=FORMS)
    parser.add_argument("source", type=Path)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    FORMS[given.form](given.source, given.folder)


if __name__ == "__main__":
    main()
