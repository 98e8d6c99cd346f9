"""The documented RAG engine (S3): blocks whose place is known go in, answers with their contexts come out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rag_core.answering import citation_styles
from rag_core.core.errors import make_unknown_document_error
from rag_core.core.kit import Kit
from rag_core.core.model import Answer, Block, Evidence, IndexingResult, Scope
from rag_core.core.run import Run
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.upload import Upload
from rag_core.rag import RAG

TextBlock = Block  # S3-21: TextBlock(text, "paragraph", line_start, line_end, page=1, bbox=(x0, y0, x1, y1))


@dataclass(frozen=True, slots=True)
class EngineReply:
    """An answer and the passages it was made from; `context` is these as one text, each below its tag (S3-18).

    It prints as the answer's text. `run` says which steps fell back, and how long they took.
    """

    answer: Answer
    contexts: tuple[Evidence, ...]
    context: str
    run: Run

    def __str__(self) -> str:
        return self.answer.text


class RAGEngine:
    """The documents that a scope may see, and no others. The preset "pages" is the documented one (S3-14, S3-17)."""

    def __init__(self, service: RAG | Kit | None = None, scope: Scope | str = "default", preset: str = "pages") -> None:
        self.rag = service if isinstance(service, RAG) else RAG(service)
        self.scope = Scope(scope) if isinstance(scope, str) else scope
        self.preset = preset

    async def index_document(
        self, document_id: str, blocks: Sequence[TextBlock], title: str | None = None
    ) -> IndexingResult:
        """Make these blocks the document, a chunk each (S3-19).

        Raises:
            NotFound: the id is that of a document that is not the scope's to replace.
        """
        upload = Upload(blocks=tuple(blocks), document_id=document_id, title=title)
        return await self.rag.index(upload, scope=self.scope, chunking=Chunking(strategy="blocks"))

    async def query(self, question: str, document_id: str | None = None) -> EngineReply:
        """Answer from all documents in scope, or from one of them (S3-20).

        Raises:
            NotFound: there is no such document, or it is not the scope's, or it was deleted.
            Unavailable: a part that the preset cannot do without did not answer.
        """
        scope = await _narrow_scope(self.scope, document_id, self.rag.kit)
        reply = await self.rag.answer(question, scope=scope, preset=self.preset)
        return EngineReply(
            reply.answer, reply.evidence, citation_styles.format_evidence_context(reply.evidence), reply.run
        )


async def _narrow_scope(scope: Scope, document_id: str | None, kit: Kit) -> Scope:
    """Return the scope, restricted to one document when one is named. Raises NotFound when the scope cannot see it."""
    if document_id is None:
        return scope
    if await kit.index.store.load_document(document_id, scope) is None:
        raise make_unknown_document_error()
    return replace(scope, document_ids=(document_id,))
