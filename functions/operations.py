"""Declarations of the operations beside their handlers, and the context in which a handler is called."""

import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_type_hints

from functions.routes import Route
from functions.store_probe import StoreProbe
from rag_core.core.errors import NotFound
from rag_core.core.run import Run
from rag_core.core.settings import Settings
from rag_core.core.telemetry import describe_current_span

if TYPE_CHECKING:
    from rag_core.core.kit import Kit
    from rag_core.core.model import Scope
    from rag_core.rag import RAG


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller as named by the platform's credential, never by the request; `workflows` None allows all of them."""

    user_id: str | None = None
    groups: tuple[str, ...] = ()
    workflows: tuple[str, ...] | None = None
    roles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """The context of one request: settings, kit, run record, caller, HTTP headers and the address that was called.

    `is_read` says that the request is a GET, which any site can have a visitor's browser send: it changes nothing.
    """

    settings: Settings
    kit: "Kit"
    run: Run
    principal: Principal = Principal()
    headers: Mapping[str, str] = field(default_factory=dict)
    is_read: bool = False
    store_probe: StoreProbe = field(default_factory=StoreProbe)
    url: str = ""

    @property
    def rag(self) -> "RAG":
        """The front door of the domain, over the kit of this call."""
        from rag_core.rag import RAG  # imported late: the host waits for this module to learn the routes

        return RAG(self.kit, self.settings)

    def resolve_scope(self, workflow_id: str, document_ids: tuple[str, ...] = ()) -> "Scope":
        """Return the scope of the request. Raises NotFound for a workflow that the caller must not name."""
        from rag_core.core.model import Scope  # imported late too

        if self.principal.workflows is not None and workflow_id not in self.principal.workflows:
            raise NotFound("there is no such workflow", code="workflow_not_found", field="workflow_id")
        describe_current_span({"rag.workflow.id": workflow_id})
        return Scope(workflow_id, self.principal.user_id, self.principal.groups, document_ids)


Handler = Callable[[Any, Call], Awaitable[Any]]
HandlerT = TypeVar("HandlerT", bound=Handler)


@dataclass(frozen=True, slots=True)
class Operation:
    """A handler with what OpenAPI, MCP and the HTTP codec need to know of it.

    Attributes:
        request: the pydantic model of the request; None for an operation that reads nothing.
        advice: when a model should call it, where models are offered it.
        reply: the TypedDict of its 200 (and of its 207).
        compact: the TypedDict of its 200 where the request's `format` is compact; None where it has none.
        accepted: the TypedDict of its 202, for work that goes on after the reply; None when there is none.
        errors: the error statuses that it can answer with.
        example: a request that its model accepts.
        required_role: the role that the caller's credential must have besides the key.
        takes_upload: the body carries a document and may be as large as one.
        can_be_partial: it answers 207 when `failed` of its reply is not empty.
        body_optional: a POST, PATCH or PUT may come without a body.
        tells: it can reply with events, as `functions/event_stream.py` makes them.
        is_heavy: whether a request runs models or reads files, and needs a place among the heavy ones.
    """

    handler: Handler
    summary: str
    advice: str
    request: type[Any] | None
    reply: type[Any]
    compact: type[Any] | None
    accepted: type[Any] | None
    errors: tuple[int, ...]
    example: Mapping[str, Any]
    required_role: str | None
    takes_upload: bool
    can_be_partial: bool
    body_optional: bool
    tells: bool
    is_heavy: Callable[[Any], bool]


READ_ERRORS = (400, 404, 503, 504)  # the error statuses of workbench operations, by what they do
STEP_ERRORS = (400, 404, 409, 503, 504)
CHANGE_ERRORS = (400, 404, 409, 413, 415, 503, 504, 507)
ADMIN_ERRORS = (400, 403, 404, 413, 415, 503, 504, 507)

DECLARED_OPERATIONS: dict[Handler, Operation] = {}  # those of the modules that are imported so far


def operation(
    summary: str,
    *,
    errors: tuple[int, ...],
    advice: str = "",
    example: Mapping[str, Any] | None = None,
    required_role: str | None = None,
    takes_upload: bool = False,
    can_be_partial: bool = False,
    body_optional: bool = False,
    tells: bool = False,
    heavy: bool | Callable[[Any], bool] = False,
) -> Callable[[HandlerT], HandlerT]:
    """Declare a handler as an operation. Its models are those of its annotations.

    The handler is an async function annotated `(request: Model, call: Call) -> Reply` that returns the JSON body.
    `request: None` stands for an operation that reads nothing, `-> Reply | AcceptedReply` for one with a 202, which has
    a `status_url`, and `-> Reply | CompactReply` for one with a `format`.
    """

    def declare(handler: HandlerT) -> HandlerT:
        hints = get_type_hints(handler)
        reply, *others = get_args(hints["return"]) or (hints["return"],)
        DECLARED_OPERATIONS[handler] = Operation(
            handler=handler,
            summary=summary,
            request=None if hints["request"] is type(None) else hints["request"],
            advice=advice,
            reply=reply,
            compact=next((other for other in others if "status_url" not in other.__annotations__), None),
            accepted=next((other for other in others if "status_url" in other.__annotations__), None),
            errors=tuple(sorted({*errors, 429})) if heavy else errors,
            example=example or {},
            required_role=required_role,
            takes_upload=takes_upload,
            can_be_partial=can_be_partial,
            body_optional=body_optional,
            tells=tells,
            is_heavy=heavy if callable(heavy) else lambda _: heavy,
        )
        return handler

    return declare


def load_operation(route: Route) -> Operation:
    """Return the operation of a route; its module is imported by the first call."""
    return DECLARED_OPERATIONS[resolve_name(route.handler)]


def is_operation_loaded(route: Route) -> bool:
    """Return whether `load_operation` would import nothing, and wait for nothing."""
    module, _, function = route.handler.partition(":")
    return getattr(sys.modules.get(module), function, None) in DECLARED_OPERATIONS
