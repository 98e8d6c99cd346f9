"""The address of a PostgreSQL database in libpq's syntax, and access tokens for servers of Azure."""

import asyncio
from typing import Any, Protocol

from azure.core.exceptions import AzureError, ClientAuthenticationError
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from rag_core.core.errors import Misconfigured, Unavailable

AZURE_HOST_SUFFIX = ".postgres.database.azure.com"
# the scope of every Azure Database for PostgreSQL
AZURE_TOKEN_SCOPE = "https://ossrdbms-aad.database.windows.net/.default"  # noqa: S105 - a scope of Entra ID
TOKEN_TIMEOUT_S = 10.0
TLS_REQUIRED_MODES = ("require", "verify-ca", "verify-full")
SSL_MODES = ("disable", "allow", "prefer", *TLS_REQUIRED_MODES)


class TokenCredential(Protocol):
    """A credential as in `azure.identity.aio`, which caches a token and renews it before it expires."""

    async def get_token(self, *scopes: str) -> Any: ...
    async def close(self) -> None: ...


class PostgresAddress:
    """The address `url` of a database. An Azure server whose URL has no password gets a token at each connection.

    With a `credential`, any server gets its token; None stands for the identity of this machine. Raises Misconfigured
    for an unusable `url`; the message names the `setting` and repeats no part of the URL.
    """

    def __init__(self, url: str, credential: TokenCredential | None = None, *, setting: str = "POSTGRES_URL") -> None:
        self._setting, self._parameters = setting, _parse_postgres_url(url, setting)
        is_azure = self._parameters.get("host", "").endswith(AZURE_HOST_SUFFIX) and "password" not in self._parameters
        self._uses_token = is_azure or credential is not None
        self._credential = credential
        if self._uses_token and self._parameters.setdefault("sslmode", "require") not in TLS_REQUIRED_MODES:
            raise _make_postgres_url_error(
                setting, f"must contain sslmode={' or '.join(TLS_REQUIRED_MODES)}: a token is sent over TLS only"
            )

    async def get_connection_parameters(self) -> dict[str, Any]:
        """Return psycopg's parameters for a new connection. Raises Misconfigured, and Unavailable without a token."""
        return {**self._parameters, "password": await self._get_token()} if self._uses_token else self._parameters

    async def close(self) -> None:
        if self._credential:
            await self._credential.close()

    async def _get_token(self) -> str:
        if self._credential is None:
            from azure.identity.aio import DefaultAzureCredential

            self._credential = DefaultAzureCredential()
        try:
            async with asyncio.timeout(TOKEN_TIMEOUT_S):
                return str((await self._credential.get_token(AZURE_TOKEN_SCOPE)).token)
        except ClientAuthenticationError as failure:
            problem = "has no password, and this machine has no identity that could get a token"
            raise _make_postgres_url_error(self._setting, problem) from failure
        except (AzureError, TimeoutError) as failure:
            raise Unavailable("no access token for the database could be obtained", code="store_failed") from failure


def _parse_postgres_url(url: str, setting: str) -> dict[str, Any]:
    try:
        parameters: dict[str, Any] = conninfo_to_dict(url)
    except ProgrammingError:  # its message may repeat the password
        raise _make_postgres_url_error(
            setting, "is not a valid URL: write characters other than letters and digits as %XX"
        ) from None
    if "@" in parameters.get("host", ""):
        raise _make_postgres_url_error(setting, "has an @ in its user or password: write it as %40")
    if not all(
        port.isdecimal() and 0 < int(port) < 65536 for port in parameters.get("port", "5432").split(",") if port
    ):
        raise _make_postgres_url_error(setting, "has an invalid port")
    if parameters.get("sslmode", "prefer") not in SSL_MODES:
        raise _make_postgres_url_error(setting, f"must have an sslmode of {', '.join(SSL_MODES)}")
    return parameters


def _make_postgres_url_error(setting: str, problem: str) -> Misconfigured:
    return Misconfigured(f"{setting} {problem} (postgresql://USER:PASSWORD@HOST:PORT/DATABASE)", field=setting)
