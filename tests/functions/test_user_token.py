"""The user's token reaches the search service from where the platform puts it, and nothing else."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from werkzeug.test import Client

import function_app
from local_emulator.host import Host
from rag_core.core.settings import Settings
from rag_core.core.user_token import get_user_token
from rag_core.stores.embedded import EmbeddedStore
from tests.functions.test_functions import principal

SIGNED_IN = {"x-ms-client-principal": principal("ann"), "x-ms-token-aad-access-token": "the-token"}


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """The token with which each look at the documents was made."""
    tokens: list[str | None] = []
    list_documents = EmbeddedStore.list_documents

    async def watching(self: EmbeddedStore, *arguments: Any) -> Any:
        tokens.append(get_user_token())
        return await list_documents(self, *arguments)

    monkeypatch.setattr(EmbeddedStore, "list_documents", watching)
    return tokens


def serving(**settings: Any) -> Iterator[Client]:
    host = Host(function_app.build_app(lambda: Settings(data_dir=None, **settings)))
    yield Client(host)
    host.close()


@pytest.mark.parametrize(
    ("settings", "token"),
    [
        ({"azure_search_document_acl": True, "trust_principal": True}, "the-token"),
        ({"azure_search_document_acl": True}, None),  # no platform in front: the header could be anybody's
        ({"trust_principal": True}, None),
    ],
)
def test_a_token_is_read_where_the_service_checks_users_and_the_platform_signs_them_in(
    settings: dict[str, bool], token: str | None, seen: list[str | None], capsys: pytest.CaptureFixture[str]
) -> None:
    for client in serving(**settings):
        for headers in (SIGNED_IN, {"x-ms-client-principal": principal("bob")}):
            reply = client.get("/api/documents", headers=headers)
            assert (reply.status_code, "the-token" in json.dumps(reply.get_json())) == (200, False)
    assert seen == [token, None]
    assert "the-token" not in "".join(capsys.readouterr())
