"""What of the search service exists only in preview versions of its API: asked for only where it was switched on.

The SDK in use speaks the stable version, so that members of previews are added to the requests that it builds.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from azure.core.pipeline import PipelineRequest
from azure.core.pipeline.policies import SansIOHTTPPolicy
from azure.core.rest import HttpRequest

from rag_core.core.user_token import get_user_token

USER_TOKEN_HEADER = "x-ms-query-source-authorization"  # noqa: S105 - the name of a header
ELEVATED_READ_HEADER = "x-ms-enable-elevated-read"
MEMBERS_OPTION = "preview_members"  # of a call of the SDK: the members to be added to its body


@dataclass(frozen=True, slots=True)
class SearchPreviews:
    """The preview features in use, none of them by default, and the version that has them ("": the stable one).

    `query_rewrites` is how many other wordings of a question the service has its own model write, 0 for none;
    `max_text_recall_size` how many documents the lexical leg brings into a hybrid search, 0 for the service's 1,000;
    `document_acl` whether the service checks by the user's token which documents the user may see.
    """

    api_version: str = ""
    query_rewrites: int = 0
    query_language: str = "en-us"
    max_text_recall_size: int = 0
    document_acl: bool = False

    def list_hybrid_members(self) -> Mapping[str, Any]:
        """Return the members of a hybrid search."""
        return {"hybridSearch": {"maxTextRecallSize": self.max_text_recall_size}} if self.max_text_recall_size else {}

    def list_rewriting_members(self) -> Mapping[str, Any]:
        """Return the members of a search whose question the service rewrites."""
        if not self.query_rewrites:
            return {}
        return {"queryRewrites": f"generative|count-{self.query_rewrites}", "queryLanguage": self.query_language}

    def build_headers(self, *, elevated: bool) -> dict[str, str]:
        """Return the headers of a read: of the current user, or `elevated`, for the store's own upkeep.

        Without a user the service shows what everybody may see.
        """
        if not self.document_acl:
            return {}
        if elevated:
            return {ELEVATED_READ_HEADER: "true"}
        token = get_user_token()
        return {USER_TOKEN_HEADER: token} if token else {}


class AddPreviewMembers(SansIOHTTPPolicy[Any, Any]):
    """Add to the body of a request the members that its call was given as `preview_members`."""

    def on_request(self, request: PipelineRequest[Any]) -> None:
        members = request.context.options.pop(MEMBERS_OPTION, None)
        if members:
            old = request.http_request
            headers = {name: value for name, value in old.headers.items() if name.lower() != "content-length"}
            content = json.dumps({**json.loads(old.content), **members})
            request.http_request = HttpRequest(old.method, old.url, headers=headers, content=content)
