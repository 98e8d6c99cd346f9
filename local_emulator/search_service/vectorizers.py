"""Make the vector of a query's text with the vectorizer that the index names: Azure OpenAI, or a web API."""

import json
import urllib.error
import urllib.request
from typing import Any

from .refusals import ServiceRefusal, make_refusal

Json = dict[str, Any]

API_VERSION = "2024-10-21"  # of Azure OpenAI embeddings
WAIT_S = 30.0
PARAMETERS = "azureOpenAIParameters"


def vectorize_text(text: str, vectorizer: Json, dimensions: int) -> list[float]:
    """Ask the vectorizer for a vector. Raises a ServiceRefusal when it does not give one of these dimensions."""
    if vectorizer["kind"] == "azureOpenAI":
        vector = _ask_azure_openai(text, vectorizer[PARAMETERS], dimensions)
    else:
        vector = _ask_web_api(text, vectorizer["customWebApiParameters"])
    if not isinstance(vector, list) or len(vector) != dimensions:
        raise _make_refusal(vectorizer, f"it gave no vector of {dimensions} numbers")
    return vector


def _ask_azure_openai(text: str, parameters: Json, dimensions: int) -> Any:
    deployment = parameters.get("deploymentId")
    url = (
        f"{parameters['resourceUri'].rstrip('/')}/openai/deployments/{deployment}/embeddings?api-version={API_VERSION}"
    )
    body: Json = {"input": [text]}
    if not str(parameters.get("modelName", "")).endswith("ada-002"):
        body["dimensions"] = dimensions
    answer = _post(url, body, {"api-key": parameters.get("apiKey") or ""})
    return answer["data"][0]["embedding"]


def _ask_web_api(text: str, parameters: Json) -> Any:
    body = {"values": [{"recordId": "0", "data": {"text": text}}]}
    answer = _post(parameters["uri"], body, parameters.get("httpHeaders") or {})
    return answer["values"][0]["data"]["vector"]


def _post(url: str, body: Json, headers: dict[str, str]) -> Any:
    if not url.startswith(("http://", "https://")):
        raise make_refusal(f"'{url}' is not an address of http or https.")
    request = urllib.request.Request(  # noqa: S310
        url, json.dumps(body).encode(), {"Content-Type": "application/json", **headers}, method="POST"
    )
    try:
        with urllib.request.urlopen(request, timeout=WAIT_S) as reply:  # noqa: S310
            return json.load(reply)
    except (urllib.error.URLError, TimeoutError, ValueError) as failure:
        raise ServiceRefusal(
            400,
            f"Could not vectorize the query: the vectorizer at {url} answered {failure}.",
            code="VectorizationFailed",
        ) from failure


def _make_refusal(vectorizer: Json, why: str) -> ServiceRefusal:
    return ServiceRefusal(
        400, f"Could not vectorize the query with '{vectorizer['name']}': {why}.", code="VectorizationFailed"
    )
