"""`python -m evals.environments`: the examples of the README and the tutorial in three environments, side by side.

The laptop has the local models and no chat model; the second has a chat model beside them, a stub that says everything
in other words, with a judge that knows what is true; the third is the deployed app: Microsoft's worker library and the
packages of requirements.txt alone, over the emulated Azure services. All are asked over HTTP.
"""

import json
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import function_app
from local_emulator.chat_stub import ChatStub
from local_emulator.host import run_host
from local_emulator.model_service import ModelService
from local_emulator.search_service.serving import serve_wsgi
from rag_core.composition import model_assembly
from rag_core.core.settings import DEFAULT_SETTINGS, Settings
from rag_core.evaluation import markdown_tables
from rag_core.ingestion.enrichment import select_key_sentences
from rag_core.providers.local_techniques import LocalTechniques
from tests.functions import deployed

DOCUMENTS = tuple(deployed.ROOT / "examples" / name for name in ("tcm-diagnostic-manual.pdf", "workshop-notes.txt"))
QUESTIONS = (
    "At what temperature is the fluid level checked?",
    "What resistance did solenoid A measure?",
    "Who won the 1998 World Cup?",
)
CITED_TEXTS = (
    "Check the level with the engine idling and the fluid between 35 and 45 degrees Celsius. The fluid is changed "
    "every year.",
    "Check the level with the engine idling and the fluid between 135 and 145 degrees Celsius. Solenoid A measured 90 "
    "ohms at the case connector when cold.",
)
TRUTHS = {  # what a competent judge finds of what the stub says, by words of it, and the words of a passage that decide
    "between 135 and 145": ("contradicted", "between 35 and 45 degrees"),
    "90 ohms": ("contradicted", "12.4 ohms at the case connector"),
    "35 to 45 degrees": ("supported", "between 35 and 45 degrees"),
    "12.4 ohms": ("supported", "12.4 ohms at the case connector"),
    "11 to 15 ohms": ("supported", "11 to 15 ohms"),
}


@dataclass(frozen=True, slots=True)
class ExampleReply:
    """The reply to an example; `status` and `confidence` are of an answer, "" and None of a cited text."""

    status: str
    sentences: tuple[tuple[str, str], ...]  # text and verdict
    confidence: float | None
    degraded: tuple[str, ...]

    @property
    def verdicts(self) -> tuple[str, ...]:
        return tuple(verdict for _, verdict in self.sentences)


Replies = Mapping[str, ExampleReply]  # by the question or the text


@contextmanager
def serve_laptop(folder: Path) -> Iterator[str]:
    """Serve the app as `rag serve` does, with the local models alone."""
    settings = Settings(data_dir=folder / "laptop")
    with run_host(function_app.build_app(lambda: settings)) as url:
        yield url


@contextmanager
def serve_laptop_with_stub(folder: Path) -> Iterator[str]:
    """Serve the same index with the paraphrasing stub as its chat model, asked by the vendor's client over HTTP."""
    embedder = model_assembly.build_local_embedder(DEFAULT_SETTINGS)
    techniques = LocalTechniques(model_assembly.build_local_reranker(DEFAULT_SETTINGS), select_key_sentences)
    stub = ChatStub(techniques, answering="paraphrases", truths=TRUTHS, model="gpt-4o-mini")
    with serve_wsgi(ModelService(embedder, stub, keys={"key"})) as models:
        settings = Settings(
            data_dir=folder / "laptop",
            chat_provider="openai",
            embedding_provider="local",
            openai_api_key="key",
            openai_base_url=f"{models}/v1",
        )
        with run_host(function_app.build_app(lambda: settings)) as url:
            yield url


@contextmanager
def serve_deployed_app(folder: Path) -> Iterator[str]:
    """Serve the app in the worker. It exits where there is no Python 3.13 to make its environment with."""
    python = deployed.prepare_worker_python()
    if python is None:
        sys.exit(deployed.NEEDED)
    with deployed.serve_deployed_app(python, folder) as url:
        yield url


ENVIRONMENTS: Mapping[str, Callable[[Path], AbstractContextManager[str]]] = {
    "laptop": serve_laptop,
    "laptop, paraphrasing chat model": serve_laptop_with_stub,
    "deployed: worker, requirements.txt": serve_deployed_app,
}


def run_examples(url: str, questions: Sequence[str] = QUESTIONS) -> Replies:
    """Index the documents at an address, and return what it replies to these questions and to each cited text."""
    for file in DOCUMENTS:
        _post(url, "index_document", content_base64=b64encode(file.read_bytes()).decode(), filename=file.name)
    answers = {question: _post(url, "rag/ask", query=question, pipeline="standard") for question in questions}
    cited = {text: _post(url, "extract_citations", text=text) for text in CITED_TEXTS}
    return {example: _read_reply(reply) for example, reply in {**answers, **cited}.items()}


def run_environments() -> dict[str, Replies]:
    """Return the replies of every environment, by its name."""
    replies = {}
    with TemporaryDirectory() as folder:
        for name, serve in ENVIRONMENTS.items():
            with serve(Path(folder)) as url:
                replies[name] = run_examples(url)
    return replies


def find_differences(replies: Mapping[str, Replies]) -> list[str]:
    """Return a line for each example whose status or verdicts, in any order, are not those of the first environment."""
    (reference, expected), *others = replies.items()
    return [
        f"{name}: {example!r} is {_summarize(found)}, not {_summarize(expected[example])} as with {reference}"
        for name, examples in others
        for example, found in examples.items()
        if _summarize(found) != _summarize(expected[example])
    ]


def format_report(replies: Mapping[str, Replies]) -> str:
    """Format a table with a row for each example, then what each environment said."""
    examples = next(iter(replies.values()))
    rows = [[example, *(_format_cell(found[example]) for found in replies.values())] for example in examples]
    table = markdown_tables.format_table(("example", *replies), rows)
    said = "\n".join(
        f"{name}: {text} ({verdict})"
        for name, found in replies.items()
        for question in QUESTIONS
        for text, verdict in found[question].sentences
    )
    return f"{table}\n\n{said}"


def _summarize(reply: ExampleReply) -> tuple[str, list[str]]:
    return reply.status, sorted(reply.verdicts)


def _format_cell(reply: ExampleReply) -> str:
    verdicts = ", ".join(reply.verdicts) or "no answer"
    confidence = "" if reply.confidence is None else f"; confidence {reply.confidence:.2f}"
    return f"{verdicts}{confidence}; degraded: {', '.join(reply.degraded) or 'nothing'}"


def _read_reply(reply: Mapping[str, Any]) -> ExampleReply:
    return ExampleReply(
        reply.get("status", ""),
        tuple((claim["text"], claim["verdict"]) for claim in reply["claims"]),
        reply["confidence"]["value"] if "confidence" in reply else None,
        tuple(f"{told['step']} {told['code']}" for told in reply["degraded"]),
    )


def _post(url: str, route: str, **body: object) -> Any:
    with closing(HTTPConnection(url.removeprefix("http://"), timeout=120)) as connection:
        connection.request("POST", f"/api/{route}", json.dumps(body), {"content-type": "application/json"})
        response = connection.getresponse()
        reply = json.load(response)
    if response.status not in (200, 201):
        raise SystemExit(f"{route} was refused: {reply}")
    return reply


def main() -> int:
    replies = run_environments()
    print(format_report(replies))
    differences = find_differences(replies)
    print("", *(differences or ["The verdicts are the same in every environment."]), sep="\n")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
