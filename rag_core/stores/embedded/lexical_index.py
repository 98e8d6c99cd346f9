"""Lexical search (BM25): one tantivy index per workflow, so that no workflow's documents change another's scores."""

import re
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import apsw
import tantivy
from tantivy import Document, Occur, Query

from rag_core.core.errors import Unavailable
from rag_core.core.foreign_failures import ForeignFailures
from rag_core.stores.embedded import lexical_checksums, records
from rag_core.stores.embedded.filters import collect_stored_field_values, encode_field_value_term
from rag_core.stores.embedded.records import AddedChunk, ScoredRow, WorkflowState
from rag_core.stores.embedded.text_analysis import build_text_analyzer, list_stem_pairs
from rag_core.text.index_terms import extract_code_terms, normalize_characters

WRITER_LOCK_WAIT_S = 12.0  # of the 20 that a search has; on a machine with fifty busy processes a commit took over 5
FIRST_POLL_S, LONGEST_POLL_S = 0.01, 0.2  # of the writer's lock, each time twice as long: a look reads the index
WRITER_HEAP_BYTES = 50_000_000
MAX_QUERY_TERMS = 1024  # of a query, as in Lucene; a whole passage has fewer
# of a match beside one in the content, where a title mostly stands, too; a pair is of two terms that follow one another
FIELD_WEIGHTS = {"title": 0.7, "pairs": 0.4}
MAX_QUERY_PAIRS = 32  # a question has fewer; a query of whole passages is about many things at once
MAX_SINGLE_TERM_QUERIES = 16  # up to here one query per term is faster than a term set query
MAX_LOOKED_UP_SHARE = 0.1  # of all chunks: among more admitted ones, looking up each term costs more than it saves
SEQ_MARKER_VERSION = -1  # the version of the one document whose `row` holds the `seq` that the index has reached


# in tantivy's messages where the disk is full, the file too large, the folder read-only or the user not allowed
WRITE_REFUSAL_PATTERN = re.compile(r"(?:os error|code:) (?:1|13|27|28|30|122)\b")


class DamagedLexicalIndexError(Exception):
    """The lexical index is damaged or belongs to another state of the database: its next generation must be built."""

    def __init__(self, generation: int, reason: str = "") -> None:
        super().__init__(generation, reason)
        self.generation = generation
        self.reason = reason


class UnwritableLexicalIndexError(Exception):
    """The files of the lexical index cannot be written now; they are not damaged."""


@dataclass(frozen=True, slots=True)
class LexicalSnapshot:
    """The lexical index as it was at `seq`."""

    seq: int
    searcher: tantivy.Searcher


class LexicalIndex:
    """The lexical index of one workflow in `folder`, or in memory without one."""

    def __init__(self, folder: Path | None, workflow: WorkflowState) -> None:
        self._lock = threading.Lock()
        self._generation = workflow.generation
        self._analyze = build_text_analyzer(keep_stop_words=True).analyze
        self._analyze_without_stop_words = build_text_analyzer(keep_stop_words=False).analyze
        self._schema = _build_tantivy_schema()
        self._folder = folder
        with _translate_tantivy_failures(self._generation):
            if folder:
                folder.parent.mkdir(mode=0o700, exist_ok=True)
                folder.mkdir(mode=0o700, exist_ok=True)
                self._make_empty_index(folder)
            with lexical_checksums.lock_lexical_files(folder, to_write=False):
                if folder and (reason := lexical_checksums.find_lexical_damage(folder)):
                    raise DamagedLexicalIndexError(self._generation, reason)
                self._index = self._open_tantivy_index()
                self._snapshot = self._load_latest_snapshot()
        if self._snapshot.seq > workflow.seq:  # the database was restored to an earlier state
            raise DamagedLexicalIndexError(self._generation, "it is of a later state than the database")

    def get_snapshot(self, db: apsw.Connection, workflow: WorkflowState) -> LexicalSnapshot:
        """Return the index with at least every change that `db` sees, applying those that are missing.

        Raises DamagedLexicalIndexError, UnwritableLexicalIndexError, and Unavailable when another process holds the
        write lock too long.
        """
        if self._snapshot.seq < workflow.seq:
            deadline = time.monotonic() + WRITER_LOCK_WAIT_S
            with self._hold_until(deadline), _translate_tantivy_failures(self._generation):
                self._update_snapshot(db, workflow, deadline)
        return self._snapshot

    def search(
        self, snapshot: LexicalSnapshot, text: str, conditions: Sequence[tuple[str, Sequence[str]]], depth: int
    ) -> list[ScoredRow]:
        """Return rows with their BM25 scores, best first: the best `depth`, and all that tie with the last of them.

        Each condition is a field and the terms of which a chunk must have at least one; it does not change the score.
        """
        clauses = self._build_text_clauses(normalize_characters(text))
        required = [
            Query.const_score_query(self._build_any_term_query(field, terms), 0.0) for field, terms in conditions
        ]
        with _translate_tantivy_failures(self._generation):
            if self._admit_few(snapshot.searcher, conditions):
                clauses, required = [_require_all([clause, *required]) for clause in clauses], []
            any_clause = Query.boolean_query([(Occur.Should, clause) for clause in clauses])
            query = _require_all([any_clause, *required])
            return self._search_with_ties(snapshot.searcher, query, depth) if clauses else []

    def _admit_few(self, searcher: tantivy.Searcher, conditions: Sequence[tuple[str, Sequence[str]]]) -> bool:
        """Return whether the conditions admit so few chunks that each term of the text is better looked up among them.

        Otherwise every chunk with a term is visited, and those that are not admitted are left out afterwards.
        """
        if not conditions or any(len(terms) > MAX_SINGLE_TERM_QUERIES for _, terms in conditions):
            return False
        admitted = min(sum(searcher.doc_freq(field, term) for term in terms) for field, terms in conditions)
        return admitted < MAX_LOOKED_UP_SHARE * searcher.num_docs

    def _build_any_term_query(self, field: str, terms: Sequence[str]) -> Query:
        if len(terms) > MAX_SINGLE_TERM_QUERIES:
            return Query.term_set_query(self._schema, field, list(terms))
        return Query.boolean_query(
            [(Occur.Should, Query.term_query(self._schema, field, term, "basic")) for term in terms]
        )

    def _search_with_ties(self, searcher: tantivy.Searcher, query: Query, depth: int) -> list[ScoredRow]:
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

    def _build_text_clauses(self, text: str) -> list[Query]:
        stems = self._analyze_without_stop_words(text) or self._analyze(text)
        terms = [(field, stem) for stem in dict.fromkeys(stems) for field in ("content", "title")]
        terms += [("pieces", piece) for piece in dict.fromkeys(extract_code_terms(text))]
        clauses = [self._build_term_query(field, term) for field, term in terms[:MAX_QUERY_TERMS]]
        pairs = list(dict.fromkeys(list_stem_pairs(stems)))[:MAX_QUERY_PAIRS]
        return clauses + [self._build_term_query("pairs", pair) for pair in pairs]

    def _build_term_query(self, field: str, term: str) -> Query:
        query = Query.term_query(self._schema, field, term, "freq")
        return Query.boost_query(query, FIELD_WEIGHTS[field]) if field in FIELD_WEIGHTS else query

    def _make_empty_index(self, folder: Path) -> None:
        """Make an index with its checksums where there is none; another process must not find it without them."""
        if lexical_checksums.has_no_lexical_files(folder):
            with lexical_checksums.lock_lexical_files(folder, to_write=True):
                if lexical_checksums.has_no_lexical_files(folder):
                    with lexical_checksums.update_lexical_files(folder):
                        self._open_tantivy_index()

    def _open_tantivy_index(self) -> tantivy.Index:
        index = tantivy.Index(self._schema, str(self._folder) if self._folder else None)
        index.register_tokenizer("stems", build_text_analyzer(keep_stop_words=True))
        return index

    def _load_latest_snapshot(self) -> LexicalSnapshot:
        self._index.reload()
        searcher = self._index.searcher()
        hits = searcher.search(Query.term_query(self._schema, "version", SEQ_MARKER_VERSION), 1, count=False).hits
        (seq,) = searcher.fast_field_values("row", [address for _, address in hits]) or (0,)
        return LexicalSnapshot(int(seq or 0), searcher)

    @contextmanager
    def _hold_until(self, deadline: float) -> Iterator[None]:
        """Let no other thread update the index: who waits behind one that waits does not wait twice as long."""
        if not self._lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise _make_busy_error()
        try:
            yield
        finally:
            self._lock.release()

    def _update_snapshot(self, db: apsw.Connection, workflow: WorkflowState, deadline: float) -> None:
        if self._snapshot.seq >= workflow.seq:  # another thread did the work while this one waited
            return
        writer = self._acquire_writer(workflow, deadline)
        if writer:
            with (
                lexical_checksums.lock_lexical_files(self._folder, to_write=True),
                lexical_checksums.update_lexical_files(self._folder),
            ):
                try:
                    self._apply_changes(writer, db, workflow)
                finally:
                    writer.wait_merging_threads()  # releases the lock
            self._snapshot = self._load_latest_snapshot()
        if self._snapshot.seq == workflow.seq and self._snapshot.searcher.num_docs != workflow.chunk_count + 1:
            raise DamagedLexicalIndexError(self._generation, "it does not hold the chunks of the database")

    def _acquire_writer(self, workflow: WorkflowState, deadline: float) -> tantivy.IndexWriter | None:
        """Wait for the only writer there can be; return None when another process did the work in the meantime."""
        poll_s = FIRST_POLL_S
        while True:
            writer = self._try_acquire_writer()
            self._snapshot = self._load_latest_snapshot()
            if self._snapshot.seq >= workflow.seq:
                if writer:
                    writer.wait_merging_threads()
                return None
            if writer:
                return writer
            if time.monotonic() > deadline:
                raise _make_busy_error()
            time.sleep(poll_s)
            poll_s = min(2 * poll_s, LONGEST_POLL_S)

    def _try_acquire_writer(self) -> tantivy.IndexWriter | None:
        try:
            return self._index.writer(WRITER_HEAP_BYTES, 1)
        except ValueError as failure:
            if "LockBusy" in str(failure):
                return None
            raise

    def _apply_changes(self, writer: tantivy.IndexWriter, db: apsw.Connection, workflow: WorkflowState) -> None:
        since = self._snapshot.seq
        for version in (SEQ_MARKER_VERSION, *records.list_removed_versions(db, workflow, since)):
            writer.delete_documents_by_term("version", version)
        for added in records.iter_added_chunks(db, workflow, since):
            writer.add_document(self._build_tantivy_document(added))
        writer.add_document(Document.from_dict({"row": workflow.seq, "version": SEQ_MARKER_VERSION}, self._schema))
        writer.commit()

    def _build_tantivy_document(self, added: AddedChunk) -> Document:
        chunk = added.chunk
        content, title = (
            normalize_characters(chunk.content),
            normalize_characters(" ".join((chunk.title, *chunk.heading_path))),
        )
        field_values = {
            "row": added.row,
            "version": added.version,
            "content": content,
            "title": title,
            "pairs": " ".join(list_stem_pairs(self._analyze_without_stop_words(content))),
            "pieces": " ".join(extract_code_terms(f"{title}\n{content}")),
            "readers": sorted(added.readers),
            "facts": [encode_field_value_term(*fact) for fact in collect_stored_field_values(chunk)],
        }
        return Document.from_dict(field_values, self._schema)


def _require_all(queries: Sequence[Query]) -> Query:
    return Query.boolean_query([(Occur.Must, query) for query in queries])


def _make_busy_error() -> Unavailable:
    return Unavailable("another process is still writing the lexical index", code="words_busy")


def _translate_tantivy_failures(generation: int) -> ForeignFailures:
    """Return the block in which what tantivy and the file system raise becomes one of the two errors of this module.

    A panic of Rust reaches Python as a `BaseException` of a module that cannot be imported: it is damage, too.
    """

    def translate(failure: BaseException) -> UnwritableLexicalIndexError | DamagedLexicalIndexError | None:
        if isinstance(failure, OSError):
            return UnwritableLexicalIndexError()
        if isinstance(failure, ValueError) and WRITE_REFUSAL_PATTERN.search(str(failure)):
            return UnwritableLexicalIndexError()
        is_damage = isinstance(failure, ValueError) or type(failure).__name__ == "PanicException"
        return DamagedLexicalIndexError(generation, "it cannot be read") if is_damage else None

    return ForeignFailures(translate)


def remove_index_folder(folder: Path) -> None:
    """Remove the files of an index that is no longer used; files that the system still holds stay."""
    shutil.rmtree(folder, ignore_errors=True)


def _build_tantivy_schema() -> tantivy.Schema:
    schema = tantivy.SchemaBuilder()
    schema.add_integer_field("row", fast=True)
    schema.add_integer_field("version", indexed=True)  # signed: deleting by an unsigned term deletes nothing (0.27)
    schema.add_text_field("content", tokenizer_name="stems", index_option="freq")
    schema.add_text_field("title", tokenizer_name="stems", index_option="freq")
    schema.add_text_field("pairs", tokenizer_name="whitespace", index_option="freq")
    schema.add_text_field("pieces", tokenizer_name="whitespace", index_option="freq")
    for field in ("readers", "facts"):
        schema.add_text_field(field, tokenizer_name="raw", index_option="basic")
    return schema.build()
