"""The documented RAG engine (S3): blocks whose place is known go in, answers with their contexts come out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rag_core.answering import citation_styles
from rag_core.core import presets
from rag_core.core.errors import no_document
from rag_core.core.kit import Kit
from rag_core.core.model import Answer, Block, Evidence, Indexed, Scope
from rag_core.core.run import Run
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.indexing import Limits, Upload, index_document
from rag_core.service import ask

TextBlock = Block  # S3-21: TextBlock(text, "paragraph", line_start, line_end, page=1, bbox=(x0, y0, x1, y1))

LIMITS = Limits(max_upload_bytes=25 * 1024**2, parse_timeout_s=30.0)  # as over HTTP, where nothing else is set


@dataclass(frozen=True, slots=True)
class EngineReply:
    """An answer and the passages it was made from; `context` is these as one text, each below its tag (S3-18).

    `run` says what was stood in for, and how long it took.
    """

    answer: Answer
    contexts: tuple[Evidence, ...]
    context: str
    run: Run


@dataclass(frozen=True, slots=True)
class RAGEngine:
    """The documents that `scope` may see, and no others. The preset "pages" is the documented one (S3-14, S3-17)."""

    kit: Kit
    scope: Scope
    preset: str = "pages"

    async def index_document(self, document_id: str, blocks: Sequence[TextBlock]) -> Indexed:
        """Make these blocks the document, a chunk each (S3-19).

        Raises:
            NotFound: the id is that of a document that is not the scope's to replace.
        """
        upload = Upload(blocks=tuple(blocks), document_id=document_id)
        chunking = Chunking(strategy="blocks")
        return await index_document(upload, self.scope, self.kit, Run(), chunking=chunking, limits=LIMITS)

    async def query(self, question: str, document_id: str | None = None) -> EngineReply:
        """An answer from all documents in scope, or from one of them (S3-20).

        Raises:
            NotFound: there is no such document, or it is not the scope's, or it was deleted.
            Unavailable: a part that the preset cannot do without did not answer.
        """
        run, preset = Run(), presets.resolve(self.preset)
        asked = preset.query(question, await self._within(document_id))
        answer = await ask(asked, self.kit, run, pipeline=preset.pipeline)
        return EngineReply(answer, answer.evidence, citation_styles.context(answer.evidence), run)

    async def _within(self, document_id: str | None) -> Scope:
        if document_id is None:
            return self.scope
        if await self.kit.index.store.document(document_id, self.scope) is None:
            raise no_document()
        return replace(self.scope, document_ids=(document_id,))
