"""Where the database is and who we are to it: an address as libpq reads it, and a token where Azure wants one."""

import asyncio
from typing import Any, Protocol

from azure.core.exceptions import AzureError, ClientAuthenticationError
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from rag_core.core.errors import Misconfigured, Unavailable

AZURES = ".postgres.database.azure.com"
SCOPE = "https://ossrdbms-aad.database.windows.net/.default"  # of every Azure Database for PostgreSQL
TOKEN_S = 10.0
PRIVATE = ("require", "verify-ca", "verify-full")
SSL_MODES = ("disable", "allow", "prefer", *PRIVATE)


class Credential(Protocol):
    """Those of `azure.identity.aio`: they remember a token, and have a new one before it runs out."""

    async def get_token(self, *scopes: str) -> Any: ...
    async def close(self) -> None: ...


class Address:
    """The address `url`. Without a password in it, a server of Azure's is given a token, the newest at each connection.

    `credential` is whose token that is, and any server is then given one; None is this machine's own identity. Raises
    Misconfigured, which names the `setting` that has it, for a `url` that cannot be used; nothing of it is repeated.
    """

    def __init__(self, url: str, credential: Credential | None = None, *, setting: str = "POSTGRES_URL") -> None:
        self._setting, self._said = setting, _read(url, setting)
        azures = self._said.get("host", "").endswith(AZURES) and "password" not in self._said
        self._by_token = azures or credential is not None
        self._credential = credential
        if self._by_token and self._said.setdefault("sslmode", "require") not in PRIVATE:
            raise _misconfigured(setting, f"must say sslmode={' or '.join(PRIVATE)}: a token goes over TLS only")

    async def parameters(self) -> dict[str, Any]:
        """For a connection that is made now. Raises Misconfigured and Unavailable."""
        return {**self._said, "password": await self._token()} if self._by_token else self._said

    async def close(self) -> None:
        if self._credential:
            await self._credential.close()

    async def _token(self) -> str:
        if self._credential is None:
            from azure.identity.aio import DefaultAzureCredential

            self._credential = DefaultAzureCredential()
        try:
            async with asyncio.timeout(TOKEN_S):
                return str((await self._credential.get_token(SCOPE)).token)
        except ClientAuthenticationError as failure:
            lacking = "has no password, and this machine has no identity to ask a token for"
            raise _misconfigured(self._setting, lacking) from failure
        except (AzureError, TimeoutError) as failure:
            raise Unavailable("no token for the database can be had", code="store_failed") from failure


def _read(url: str, setting: str) -> dict[str, Any]:
    try:
        said: dict[str, Any] = conninfo_to_dict(url)
    except ProgrammingError:  # whose words may be those of the password
        raise _misconfigured(
            setting, "is no address: what is not a letter or digit is written %XX in its parts"
        ) from None
    if "@" in said.get("host", ""):
        raise _misconfigured(setting, "has an @ in its password or user, to be written %40")
    if not all(port.isdecimal() and 0 < int(port) < 65536 for port in said.get("port", "5432").split(",") if port):
        raise _misconfigured(setting, "has a port that is none")
    if said.get("sslmode", "prefer") not in SSL_MODES:
        raise _misconfigured(setting, f"must say an sslmode of {', '.join(SSL_MODES)}")
    return said


def _misconfigured(setting: str, what: str) -> Misconfigured:
    return Misconfigured(f"{setting} {what} (postgresql://USER:PASSWORD@HOST:PORT/DATABASE)", field=setting)
