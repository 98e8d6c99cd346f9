"""Lexical search (BM25): one tantivy index per workflow, so that no workflow's documents change another's scores."""

import shutil
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import apsw
import tantivy
from tantivy import Document, Occur, Query

from rag_core.core.errors import Unavailable
from rag_core.stores.embedded import records
from rag_core.stores.embedded.analysis import analyzer
from rag_core.stores.embedded.filters import facts, mark
from rag_core.stores.embedded.records import Fresh, ScoredRow, Workflow
from rag_core.text.spelling import pieces, plain

LOCK_WAIT_S = 5.0
LOCK_POLL_S = 0.01
WRITER_BYTES = 50_000_000
MOST_TERMS = 1024  # of a query, as in Lucene; a whole passage has fewer
FEW = 16  # up to here one query per term is faster than a term set query
MARKER = -1  # the version of the one document whose `row` holds the `seq` that the index has reached


class DamagedError(Exception):
    """The lexical index is damaged or belongs to another state of the database: its next generation must be built."""

    def __init__(self, generation: int) -> None:
        super().__init__(generation)
        self.generation = generation


@dataclass(frozen=True, slots=True)
class View:
    """The lexical index as it was at `seq`."""

    seq: int
    searcher: tantivy.Searcher


class Words:
    """The lexical index of one workflow in `folder`, or in memory without one."""

    def __init__(self, folder: Path | None, workflow: Workflow) -> None:
        self._lock = threading.Lock()
        self._generation = workflow.generation
        self._analyze = analyzer(stop_words=True).analyze
        self._analyze_without_stop_words = analyzer(stop_words=False).analyze
        self._schema = _schema()
        try:
            self._index = self._opened(folder)
            self._snapshot = self._latest()
        except (ValueError, OSError) as failure:
            raise DamagedError(self._generation) from failure
        if self._snapshot.seq > workflow.seq:
            raise DamagedError(self._generation)  # the database was restored to an earlier state

    def at(self, db: apsw.Connection, workflow: Workflow) -> View:
        """Return the index with at least every change that `db` sees, applying those that are missing.

        Raises DamagedError, and Unavailable when another process holds the write lock too long.
        """
        if self._snapshot.seq < workflow.seq:
            with self._lock:
                try:
                    self._catch_up(db, workflow)
                except (ValueError, OSError) as failure:
                    raise DamagedError(self._generation) from failure
        return self._snapshot

    def find(
        self, snapshot: View, text: str, conditions: Sequence[tuple[str, Sequence[str]]], depth: int
    ) -> list[ScoredRow]:
        """Return rows with their BM25 scores, best first: the best `depth`, and all that tie with the last of them.

        Each condition is a field and the terms of which a chunk must have at least one; it does not change the score.
        """
        text_query = self._query(plain(text))
        if text_query is None:
            return []
        condition_queries = [Query.const_score_query(self._any_of(field, terms), 0.0) for field, terms in conditions]
        combined_query = Query.boolean_query([(Occur.Must, clause) for clause in (text_query, *condition_queries)])
        try:
            return self._best(snapshot.searcher, combined_query, depth)
        except (ValueError, OSError) as failure:
            raise DamagedError(self._generation) from failure

    def _any_of(self, field: str, terms: Sequence[str]) -> Query:
        if len(terms) > FEW:
            return Query.term_set_query(self._schema, field, list(terms))
        return Query.boolean_query(
            [(Occur.Should, Query.term_query(self._schema, field, term, "basic")) for term in terms]
        )

    def _best(self, searcher: tantivy.Searcher, query: Query, depth: int) -> list[ScoredRow]:
        limit = 2 * depth
        while True:
            hits = searcher.search(query, limit, count=False).hits
            scores = [round(score, 4) for score, _ in hits]  # summed in float32 in an order that varies
            if len(hits) < limit or scores[-1] < scores[depth - 1]:
                break
            limit *= 4
        rows = searcher.fast_field_values("row", [address for _, address in hits])
        lowest_score = scores[min(depth, len(scores)) - 1] if scores else 0.0
        return [(int(row or 0), score) for row, score in zip(rows, scores, strict=True) if score >= lowest_score]

    def _query(self, text: str) -> Query | None:
        stems = dict.fromkeys(self._analyze_without_stop_words(text) or self._analyze(text))
        terms = [(field, stem) for stem in stems for field in ("content", "title")]
        terms += [("pieces", piece) for piece in dict.fromkeys(pieces(text))]
        clauses = [(Occur.Should, Query.term_query(self._schema, *term, "freq")) for term in terms[:MOST_TERMS]]
        return Query.boolean_query(clauses) if clauses else None

    def _opened(self, folder: Path | None) -> tantivy.Index:
        if folder:
            folder.parent.mkdir(mode=0o700, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
        index = tantivy.Index(self._schema, str(folder) if folder else None)
        index.register_tokenizer("stems", analyzer(stop_words=True))
        return index

    def _latest(self) -> View:
        self._index.reload()
        searcher = self._index.searcher()
        hits = searcher.search(Query.term_query(self._schema, "version", MARKER), 1, count=False).hits
        (seq,) = searcher.fast_field_values("row", [address for _, address in hits]) or (0,)
        return View(int(seq or 0), searcher)

    def _catch_up(self, db: apsw.Connection, workflow: Workflow) -> None:
        if self._snapshot.seq >= workflow.seq:  # another thread did the work while this one waited
            return
        writer = self._writer(workflow)
        if writer:
            try:
                self._replay(writer, db, workflow)
            finally:
                writer.wait_merging_threads()  # releases the lock
            self._snapshot = self._latest()
        if self._snapshot.seq == workflow.seq and self._snapshot.searcher.num_docs != workflow.chunks + 1:
            raise DamagedError(self._generation)

    def _writer(self, workflow: Workflow) -> tantivy.IndexWriter | None:
        """Wait for the only writer there can be; return None when another process did the work in the meantime."""
        deadline = time.monotonic() + LOCK_WAIT_S
        while True:
            writer = self._try_lock()
            self._snapshot = self._latest()
            if self._snapshot.seq >= workflow.seq:
                if writer:
                    writer.wait_merging_threads()
                return None
            if writer:
                return writer
            if time.monotonic() > deadline:
                raise Unavailable("another process is still writing the lexical index", code="words_busy")
            time.sleep(LOCK_POLL_S)

    def _try_lock(self) -> tantivy.IndexWriter | None:
        try:
            return self._index.writer(WRITER_BYTES, 1)
        except ValueError as failure:
            if "LockBusy" in str(failure):
                return None
            raise

    def _replay(self, writer: tantivy.IndexWriter, db: apsw.Connection, workflow: Workflow) -> None:
        since = self._snapshot.seq
        for version in (MARKER, *records.gone(db, workflow, since)):
            writer.delete_documents_by_term("version", version)
        for added in records.fresh(db, workflow, since):
            writer.add_document(self._document(added))
        writer.add_document(Document.from_dict({"row": workflow.seq, "version": MARKER}, self._schema))
        writer.commit()

    def _document(self, added: Fresh) -> Document:
        chunk = added.chunk
        content, title = plain(chunk.content), plain(" ".join((chunk.title, *chunk.heading_path)))
        field_values = {
            "row": added.row,
            "version": added.version,
            "content": content,
            "title": title,
            "pieces": " ".join(pieces(f"{title}\n{content}")),
            "readers": sorted(added.readers),
            "facts": [mark(*fact) for fact in facts(chunk)],
        }
        return Document.from_dict(field_values, self._schema)


def remove(folder: Path) -> None:
    """Remove the files of an index that is no longer used; files that the system still holds stay."""
    shutil.rmtree(folder, ignore_errors=True)


def _schema() -> tantivy.Schema:
    schema = tantivy.SchemaBuilder()
    schema.add_integer_field("row", fast=True)
    schema.add_integer_field("version", indexed=True)  # signed: deleting by an unsigned term deletes nothing (0.27)
    for field in ("content", "title"):
        schema.add_text_field(field, tokenizer_name="stems", index_option="freq")
    schema.add_text_field("pieces", tokenizer_name="whitespace", index_option="freq")
    for field in ("readers", "facts"):
        schema.add_text_field(field, tokenizer_name="raw", index_option="basic")
    return schema.build()
