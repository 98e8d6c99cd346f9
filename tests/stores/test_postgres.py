"""What is particular to PostgreSQL: its tables, its planner, its connections and its failures."""

import asyncio
import itertools
import traceback
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import psycopg
import pytest
import yaml
from azure.core.exceptions import ClientAuthenticationError, ServiceRequestError

from rag_core.composition.assembly import build_kit, set_up_stores
from rag_core.core.errors import InvalidRequest, Misconfigured, StorageFull, Unavailable
from rag_core.core.model import Filter, SavedQuery, Scope
from rag_core.core.settings import Settings
from rag_core.stores.archive import ArchiveDatabase, SqlArchive
from rag_core.stores.postgres import PostgresStore, connections, search
from rag_core.stores.postgres.address import PostgresAddress
from rag_core.stores.postgres.lexical_text import normalize_lexical_text
from tests.postgres import empty_database, empty_store, run, server
from tests.stores.sample import SCOPE, chunk, document, find, ids, put, vector

COMMIT = b"Q\x00\x00\x00\x0bCOMMIT\x00"  # as it goes over the wire
TEXTS = ["replace the torque converter", "bleed the brake line", "code P0700 is stored"]


@pytest.fixture
async def store() -> AsyncIterator[PostgresStore]:
    made = empty_store()
    yield made
    await made.close()


@pytest.fixture(scope="module")
def bare() -> str:
    """A database in which nothing was set up."""
    return empty_database("bare")


def columns(table: str, address: str = "") -> dict[object, object]:
    sql = (
        "select attname, format_type(atttypid, atttypmod) from pg_attribute where attrelid = '{}'::regclass "
        "and attnum > 0 and not attisdropped"
    )
    return dict(run(address or server(), sql.format(table)))


def indexes(address: str) -> str:
    return " ".join(str(row[0]) for row in run(address, "select indexdef from pg_indexes"))


async def test_setup_makes_everything_and_may_be_repeated(bare: str) -> None:
    """S2-32, S2-55, S2-29, S2-28, S3-04, S3-09: pgvector, columns of the embedder's width, HNSW of cosines, ANALYZE."""
    store = PostgresStore(bare, dimensions=1536)
    with pytest.raises(Misconfigured, match="rag setup") as lacking:
        await store.load_embedding_space()
    assert lacking.value.code == "index_missing"
    first = await store.setup()
    assert "pgvector" in first
    assert await store.setup() == first
    assert columns("document_chunks", bare)["embedding"] == "vector(1536)"
    assert "USING hnsw (embedding vector_cosine_ops)" in indexes(bare)
    analyzed = run(bare, "select relname from pg_stat_user_tables where analyze_count + autoanalyze_count > 0")
    assert {"rag_documents", "document_chunks"} <= {name for (name,) in analyzed}
    await store.close()


def test_the_table_of_chunks_has_the_documented_columns() -> None:
    """S3-02, S3-03, S3-05, S3-06, S3-07, S0-89."""
    found = columns("document_chunks")
    assert [found[name] for name in ("id", "document_id", "content")] == ["uuid", "uuid", "text"]
    assert [found[name] for name in ("page_number", "line_start", "line_end")] == ["integer"] * 3
    assert [found[name] for name in ("x0", "y0", "x1", "y1")] == ["numeric"] * 4


async def test_place_and_similarity_can_be_asked_of_the_table_itself(store: PostgresStore) -> None:
    """S3-05..08, C07: unit vectors, so that L2 distance and cosine distance order alike (S0-54)."""
    await store.replace_document(
        document("d"), [chunk("d", i, t) for i, t in enumerate(TEXTS)], [[3, 4], [0.1, 0], [0, 9]], SCOPE, space="two"
    )
    told = run(server(), "select page_number, line_start, line_end, x0, y1 from document_chunks order by ordinal")
    assert [tuple(map(float, row)) for row in told] == [(1, 1, 1, 0, 3.5), (1, 2, 2, 0, 3.5), (2, 3, 3, 0, 3.5)]  # type: ignore[arg-type]
    asked = "select content from document_chunks where embedding is not null order by embedding {} '[1, 0.4]' limit 3"
    assert run(server(), asked.format("<->")) == run(server(), asked.format("<=>"))
    ((similarity,),) = run(server(), "select 1 - (embedding <=> '[3, 4]') from document_chunks where ordinal = 1")
    found = await store.search([search.Probe("q", "", [3.0, 4.0])], SCOPE, limit=3)
    assert [hit.signals["meaning"] for hit in found[0] if hit.chunk.ordinal == 1] == [pytest.approx(similarity)]


async def test_a_reader_of_llamaindex_finds_its_columns(store: PostgresStore) -> None:
    """S2-14, S2-15, S2-24..26, C19: proposals under its names and ids; its collection is our workflow."""
    found = columns("llamaindex_proposal_vectors")
    assert list(found) == ["id", "external_id", "collection", "document", "metadata", "embeddings"]
    assert (found["id"], found["external_id"], found["document"]) == ("uuid", "character varying", "text")
    assert (found["metadata"], str(found["embeddings"])[:6]) == ("jsonb", "vector")
    at = Scope("arbitrum-proposals")
    proposal = {"proposal_id": "p1", "stage": "snapshot"}
    await put(store, "p1:snapshot", TEXTS, at, **proposal)
    await put(store, "secret", TEXTS, Scope("arbitrum-proposals", "ann"), **proposal)
    await put(store, "manual", TEXTS, Scope("garage"))
    await put(store, "p2:tally", TEXTS, Scope("others"), **proposal)
    await put(store, "gone", TEXTS, at, **proposal)
    await store.delete("gone", at)
    assert not run(server(), "select from llamaindex_proposal_vectors")
    with psycopg.connect(server(), options="-c rag.workflow_id=arbitrum-proposals") as db:  # as its PGVectorStore asks
        rows = db.execute(
            "select v.*, embeddings <=> %s::vector s from public.llamaindex_proposal_vectors v "
            "where v.collection = %s and metadata->>'stage' = any(%s) order by s limit 5",
            (str(vector(TEXTS[1])), "arbitrum-proposals", ["snapshot", "tally"]),
        ).fetchall()
        assert not db.execute("select from llamaindex_proposal_vectors where external_id !~ '^p1'").fetchall()
    assert (rows[0][1], rows[0][3], rows[0][4]["stage"]) == ("p1:snapshot:1", TEXTS[1], "snapshot")
    assert rows[0][4].items() >= {**proposal, "chunk_index": 1}.items()
    await put(store, "p1:snapshot", TEXTS, at, **proposal)
    again = "select id from llamaindex_proposal_vectors where external_id = 'p1:snapshot:1'"
    assert run(server(), "set rag.workflow_id = 'arbitrum-proposals'", again) == [(rows[0][0],)]


def test_the_documented_indexes_are_there() -> None:
    """S2-27: on external_id and on collection."""
    found = indexes(server())
    for name in ("external_id", "collection"):
        assert f"idx_llamaindex_proposal_vectors_{name} ON public.document_chunks USING btree ({name})" in found


async def test_chunks_with_every_word_come_before_those_with_some(store: PostgresStore) -> None:
    """S0-55, S0-46, C43: `ts_rank`; the signal tells the two apart by 1."""
    await put(store, "d", ["brake brake brake brake", "brake and, far away, the line", "a line"])
    found = await find(store, "brake line", how="words")
    assert ids(found)[0] == "d:001"
    assert [hit.score > 1 for hit in found] == [True, False, False]


async def test_few_are_ranked_where_every_word_is_found_often_enough(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(*_: object) -> search.ScoredChunkIds:
        raise AssertionError("chunks with only some of the words were looked at")

    await put(store, "d", ["brake line"] * 60)
    monkeypatch.setattr(search, "_search_any_word", refused)
    assert len(await find(store, "brake line", how="words")) == 10


async def test_a_code_is_found_to_the_letter(store: PostgresStore) -> None:
    await put(store, "d", ["code P0700 is stored", "code P0701 is stored", "code P07 00 is stored"])
    assert ids(await find(store, "P0700", how="words"))[0] == "d:000"
    assert "d:001" not in ids(await find(store, "P0700", how="words"))


def test_words_are_of_ascii_whatever_the_script() -> None:
    assert normalize_lexical_text("Café 04E 906 Straße").split()[:4] == ["cafe", "04e", "906", "strasse"]
    assert normalize_lexical_text("控制 Щука").isascii()


async def test_many_vectors_are_searched_by_the_index_and_filtered_ones_exactly(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S2-29, S3-09."""
    await put(store, "d", [f"text {i}" for i in range(200)])
    exact = ids(await find(store, "text 7", how="meaning"))
    monkeypatch.setattr(search, "MIN_CHUNKS_FOR_HNSW", 100)
    run(server(), "analyze document_chunks")
    used, by_index = [], search._search_hnsw_index

    async def noted(*asked: Any) -> search.ScoredChunkIds:
        used.append(1)
        return await by_index(*asked)

    monkeypatch.setattr(search, "_search_hnsw_index", noted)
    assert set(ids(await find(store, "text 7", how="meaning", limit=200))) >= set(exact)
    assert used == [1]
    await find(store, "text 7", how="meaning", filters=[Filter("page", "eq", 1)])
    await find(store, "text 7", Scope("manuals", document_ids=("d",)), how="meaning")
    assert used == [1]


async def test_few_readable_vectors_among_many_are_all_found(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index gives up after so many vectors of others; the scan that follows does not."""
    for owner, count, side in (("ann", 400, 1.0), ("bob", 3, -1.0)):
        scope = Scope("manuals", owner)
        chunks = [chunk(owner, i, "text") for i in range(count)]
        vectors = [[side, i / 1000] for i in range(count)]
        await store.replace_document(document(owner, scope), chunks, vectors, scope, space="two")
    monkeypatch.setattr(search, "MIN_CHUNKS_FOR_HNSW", 100)
    options = ("hnsw.max_scan_tuples=1", "enable_sort=off", "enable_seqscan=off")  # the planner would not use it yet
    impatient = PostgresStore(f"{server()}&options={quote(' '.join(f'-c {option}' for option in options))}")
    (found,) = await impatient.search([search.Probe("q", "", [1.0, 0.0])], Scope("manuals", "bob"), limit=1500)
    assert len(found) == 3
    await impatient.close()


async def test_words_of_titles_count_less_than_those_of_the_text(store: PostgresStore) -> None:
    titles = {
        "a": ("Gearbox", "the caliper holds"),
        "b": ("Brake", "the caliper holds"),
        "c": ("Pump", "the brake holds"),
    }
    for name, (title, text) in titles.items():
        made = chunk(name, 0, text, title=title, heading_path=())
        await store.replace_document(document(name), [made], [None], SCOPE, space="")
    assert ids(await find(store, "brake caliper noise", how="words")) == ["b:000", "a:000", "c:000"]
    assert ids(await find(store, "brake", how="words")) == ["c:000", "b:000"]
    assert all(hit.score > 1 for hit in await find(store, "brake", how="words"))


async def test_the_best_of_very_many_with_some_of_the_words_is_found(store: PostgresStore) -> None:
    """No number of candidates is cut off before they are ranked."""
    await put(store, "d", ["a line and a line"])
    run(
        server(),
        "insert into document_chunks(document_id, collection, external_id, ordinal, content, content_hash, facts, "
        "record, words) select document_id, collection, 'x' || n, n, content, content_hash, facts, record, "
        "case n when 21000 then 'line:1A,2A,3A' else 'line:1A other:2A,3A' end::tsvector "
        "from document_chunks, generate_series(1, 21000) n",
    )
    assert ids(await find(store, "brake line", how="words"))[0] == "x21000"


async def test_a_zero_vector_is_like_nothing(store: PostgresStore) -> None:
    chunks = [chunk("d", i, text) for i, text in enumerate(TEXTS)]
    await store.replace_document(document("d"), chunks, [[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0]], SCOPE, space="two")
    (found,) = await store.search([search.Probe("q", "", [1.0, 0.0])], SCOPE, limit=3)
    assert [(hit.chunk.ordinal, hit.score) for hit in found] == [(1, 1.0), (0, 0.0), (2, -1.0)]


@pytest.mark.parametrize("text", ["a\x00b", "\ud800"])
async def test_what_the_database_cannot_hold_is_refused_and_nothing_is_written(store: PostgresStore, text: str) -> None:
    await put(store, "d", TEXTS)
    for bad in (
        replace(chunk("d", 0, "x"), content=text),
        chunk("d", 0, "x", metadata={"note": text}),
        chunk("d", 0, "x", title=text),
    ):
        with pytest.raises(InvalidRequest):
            await store.replace_document(document("d"), [bad], [None], SCOPE, space="")
    assert len(await store.select(SCOPE, limit=9)) == 3


async def test_a_vector_that_is_no_number_is_refused(store: PostgresStore) -> None:
    with pytest.raises(InvalidRequest):
        await store.replace_document(document("d"), [chunk("d", 0, "x")], [[float("nan"), 1.0]], SCOPE, space="two")
    assert not await store.list_documents(SCOPE)


@pytest.mark.parametrize(
    ("raised", "meant"),
    [
        (psycopg.errors.DiskFull, StorageFull),
        (psycopg.errors.InsufficientPrivilege, Misconfigured),
        (psycopg.errors.InvalidPassword, Misconfigured),
        (psycopg.errors.QueryCanceled, Unavailable),
        (psycopg.errors.TooManyConnections, Unavailable),
    ],
)
async def test_a_failure_of_the_database_is_told_by_who_can_put_it_right(
    store: PostgresStore, raised: type[psycopg.Error], meant: type[Exception]
) -> None:
    async def failing(_: object) -> None:
        raise raised("as the server says it")

    with pytest.raises(meant):
        await store._connections.read(failing)


async def test_a_conflict_of_transactions_is_tried_once_more(store: PostgresStore) -> None:
    """(RELIABILITY C55)."""
    tries: list[object] = []

    async def work(db: object) -> str:
        tries.append(db)
        if len(tries) < 2:
            raise psycopg.errors.SerializationFailure
        return "done"

    async def never(db: object) -> None:
        tries.append(db)
        raise psycopg.errors.DeadlockDetected

    assert await store._connections.read(work) == "done"
    with pytest.raises(Unavailable) as busy:
        await store._connections.read(never)
    assert (busy.value.code, len(tries)) == ("store_busy", 4)


async def test_a_server_that_was_started_anew_is_not_noticed(store: PostgresStore) -> None:
    await put(store, "d", TEXTS)
    await asyncio.gather(*(store.list_documents(SCOPE) for _ in range(4)))
    run(server(), "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() "
        "and backend_type = 'client backend'")  # fmt: skip
    assert len(await store.list_documents(SCOPE)) == 1
    assert await store.delete("d", SCOPE) is True


@asynccontextmanager
async def cut_at_commit(*, cuts: bool) -> AsyncIterator[str]:
    """The database behind a wire that is cut after every other COMMIT was passed on, before its reply."""
    commits = itertools.count(1)
    at = urlsplit(server())
    socket = parse_qs(at.query)["host"][0] + "/.s.PGSQL.5432"

    async def passed_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
            if cuts and data == COMMIT and next(commits) % 2:
                return True
        return False

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inside, outside = await asyncio.open_unix_connection(socket)
        back = asyncio.create_task(passed_on(inside, writer))
        try:
            if await passed_on(reader, outside):
                back.cancel()
                await asyncio.wait([back])
                await inside.read(65536)  # the commit is done
        finally:
            back.cancel()
            outside.close()
            writer.close()

    wire = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = wire.sockets[0].getsockname()
    try:
        yield f"postgresql://postgres@{host}:{port}/postgres"
    finally:
        wire.close()


async def test_what_was_committed_when_the_connection_broke_is_not_done_twice(store: PostgresStore) -> None:
    """(RELIABILITY C55): the reply tells of the first attempt."""
    await put(store, "d", TEXTS)
    async with cut_at_commit(cuts=True) as address:
        far = PostgresStore(address)
        replaced = await put(far, "d", TEXTS[:1])
        assert (replaced.added, replaced.unchanged, replaced.removed) == (0, 1, 2)
        assert await far.delete("d", SCOPE) is True
        assert await far.restore("d", SCOPE) is True
        await far.close()
    assert [c.content for c in await store.select(SCOPE, limit=9)] == TEXTS[:1]


async def test_tls_is_required_where_the_address_says_so(store: PostgresStore) -> None:
    """S2-30: and never left out because the server has none."""
    async with cut_at_commit(cuts=False) as address:
        plain, secured = PostgresStore(address), PostgresStore(f"{address}?sslmode=require")
        assert await plain.load_embedding_space() == ""
        with pytest.raises(Unavailable) as refused:
            await secured.load_embedding_space()
        assert "SSL" in str(refused.value.__cause__)
        await plain.close()


async def test_a_server_that_is_not_there_is_told_at_once() -> None:
    with pytest.raises(Unavailable) as refused:
        await PostgresStore("postgresql://postgres@127.0.0.1:1/postgres").load_embedding_space()
    assert refused.value.code == "store_failed"
    assert refused.value.retryable


PAROLE = "s3cret"
MALFORMED = (
    "postgresql://u:{}%zz@h/db",
    "postgresql://u:{} word@h/db",
    "postgresql://u:{}@[::1/db",
    "postgresql://u:{}@h/db?foo=1",
    "postgresql://u:{}@ss@h/db",
    "postgresql://u:{}@h:abc/db",
    "postgresql://u:{}@h:99999/db",
    "postgresql://u:{}@h/db?sslmode=maybe",
)


@pytest.mark.parametrize("address", MALFORMED)
def test_an_address_that_cannot_be_used_is_the_operators_to_put_right_and_not_repeated(address: str) -> None:
    """S2-49: at the start, and not as a server that does not answer."""
    with pytest.raises(Misconfigured) as refused:
        build_kit(Settings(data_dir=None, postgres_url=address.format(PAROLE), llm_provider="local"))
    told = "".join(traceback.format_exception(refused.value, chain=True))
    assert refused.value.field == "POSTGRES_URL"
    assert PAROLE not in told


class Tokens:
    """A credential whose token runs out when it is told to."""

    def __init__(self, *tokens: str) -> None:
        self.tokens, self.closed = list(tokens), False
        self.asked: list[str] = []

    async def get_token(self, *scopes: str) -> Any:
        self.asked += scopes
        return SimpleNamespace(token=self.tokens[0])

    def expire(self) -> None:
        self.tokens.pop(0)

    async def close(self) -> None:
        self.closed = True


@pytest.fixture
def by_password(store: PostgresStore) -> Iterator[str]:
    """The address of the same database for a user who must give a password."""
    run(server(), "drop role if exists app", "create role app superuser login password 'token-1'")
    ((file,),) = run(server(), "show hba_file")
    path = Path(str(file))
    rules = path.read_text()
    path.write_text(f"local all app scram-sha-256\n{rules}")
    run(server(), "select pg_reload_conf()")
    yield server().replace("postgres:@", "app@").replace("postgres@", "app@")
    path.write_text(rules)
    run(server(), "select pg_reload_conf()", "drop role app")


async def test_a_token_is_the_password_and_each_new_connection_is_given_the_newest(by_password: str) -> None:
    """S2-30, S2-49: on Azure nobody has a password; a connection that is open outlives its token."""
    tokens = Tokens("token-1", "token-2")
    store = PostgresStore(by_password, credential=tokens)
    await put(store, "d", TEXTS)
    run(server(), "alter role app password 'token-2'")
    assert len(await store.list_documents(SCOPE)) == 1
    assert len(tokens.asked) == 1
    tokens.expire()
    hang_up = "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'app'"
    run(server(), hang_up)
    assert len(await store.list_documents(SCOPE)) == 1
    assert tokens.asked == ["https://ossrdbms-aad.database.windows.net/.default"] * 2
    await store.close()
    assert tokens.closed


async def test_the_archive_is_let_in_by_the_same_token_that_the_store_is(by_password: str) -> None:
    """S0-86, S2-49: ARCHIVE_URL where nobody has a password."""
    tokens = Tokens("token-1", "token-2")
    empty_database("by_token")
    archive = SqlArchive(ArchiveDatabase(by_password.replace("/postgres?", "/by_token?"), credential=tokens))
    kept = await archive.add_query(SavedQuery(0, "", "what?"), SCOPE)
    tokens.expire()
    run(server(), "alter role app password 'token-2'")
    hang_up = "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'app'"
    run(server(), hang_up)
    assert await archive.load_query(kept.id, SCOPE) == kept
    await archive.close()
    run(server(), "drop database by_token")
    assert tokens.closed


def test_an_address_of_the_archive_that_cannot_be_used_is_named_by_its_own_setting() -> None:
    for wrong in ("postgresql://u:p@ss@h/db", "postgresql://h:0/db", "postgresql://h/db?sslmode=maybe"):
        with pytest.raises(Misconfigured) as refused:
            build_kit(Settings(data_dir=None, archive_url=wrong))
        assert refused.value.field == "ARCHIVE_URL"
        assert refused.value.message.startswith("ARCHIVE_URL")


async def test_setup_makes_the_archives_tables_for_an_app_that_may_not(store: PostgresStore) -> None:
    """S0-86: on Azure the app reads and writes rows alone."""
    where = empty_database("archive")
    said = await set_up_stores(Settings(data_dir=None, archive_url=where))
    assert said.endswith("the archive in PostgreSQL is ready")
    grants = "grant select, insert, update, delete on all tables in schema public to clerk"
    more = "grant usage on all sequences in schema public to clerk"
    run(server(), "drop role if exists clerk", "create role clerk login")
    run(where, grants, more)
    archive = SqlArchive(ArchiveDatabase(where.replace("postgres:@", "clerk@").replace("postgres@", "clerk@")))
    kept = await archive.add_query(SavedQuery(0, "", "what?"), SCOPE)
    assert await archive.load_query(kept.id, SCOPE) == kept
    await archive.close()
    run(where, "drop owned by clerk", "drop role clerk")


async def test_a_token_that_the_server_refuses_is_told_and_not_repeated(by_password: str) -> None:
    with pytest.raises(Misconfigured) as refused:
        await PostgresStore(by_password, credential=Tokens("another's")).load_embedding_space()
    assert "another's" not in refused.value.message


@pytest.mark.parametrize(
    ("raised", "meant"),
    [(ClientAuthenticationError("no identity"), Misconfigured), (ServiceRequestError("no network"), Unavailable)],
)
async def test_a_token_that_cannot_be_had_is_told_by_who_can_put_it_right(
    store: PostgresStore, raised: Exception, meant: type[Exception]
) -> None:
    class NoToken(Tokens):
        async def get_token(self, *scopes: str) -> Any:
            raise raised

    with pytest.raises(meant):
        await PostgresStore(server(), credential=NoToken()).load_embedding_space()


async def test_a_server_of_azures_is_given_a_token_where_the_address_has_no_password_and_over_tls_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """S2-30."""
    monkeypatch.setattr("azure.identity.aio.DefaultAzureCredential", lambda: Tokens("the machine's own"))
    host = "db.postgres.database.azure.com:5432/rag"
    asked = await PostgresAddress(f"postgresql://app@{host}").get_connection_parameters()
    assert (asked["password"], asked["sslmode"]) == ("the machine's own", "require")
    for address in (f"postgresql://app:said@{host}", "postgresql://app:said@127.0.0.1/rag"):
        assert (await PostgresAddress(address).get_connection_parameters())["password"] == "said"
    assert "password" not in await PostgresAddress("postgresql://app@127.0.0.1/rag").get_connection_parameters()
    with pytest.raises(Misconfigured, match="TLS"):
        PostgresAddress(f"postgresql://app@{host}?sslmode=prefer")


async def test_at_most_a_few_connections_are_open_and_none_after_the_end(store: PostgresStore) -> None:
    await asyncio.gather(*(store.list_documents(SCOPE) for _ in range(20)))
    assert 0 < len(store._connections._idle) <= connections.POSTGRES_CONNECTIONS
    await store.close()
    assert not store._connections._idle


async def test_the_setting_chooses_the_store_and_setup_makes_its_tables() -> None:
    """S2-49, S2-55: POSTGRES_URL."""
    settings = Settings(data_dir=None, postgres_url=empty_database("chosen"), llm_provider="local")
    assert "is ready" in await set_up_stores(settings)
    kit = build_kit(settings)
    described = await kit.index.store.describe()
    assert (described.kind, described.documents) == ("postgresql", 0)
    assert "password" not in described.location
    await kit.close()


def test_the_compose_file_brings_the_documented_server() -> None:
    """S2-31: pgvector on PostgreSQL 16, on this machine only."""
    compose = yaml.safe_load((Path(__file__).parents[2] / "docker-compose.yml").read_text("utf-8"))
    (service,) = [s for s in compose["services"].values() if "pgvector" in s["image"]]
    assert service["image"] == "pgvector/pgvector:pg16"
    assert all(str(port).startswith("127.0.0.1:") for port in service["ports"])
