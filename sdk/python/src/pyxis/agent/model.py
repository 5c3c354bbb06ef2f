"""Views of agents: services, pending approvals, transactions and responses of upstreams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyxis.core.decode import Time


@dataclass(frozen=True)
class MethodOutcome:
    """The outcome of a method: `proceeds`, `pauses` or `denied`."""

    method: str
    outcome: str


@dataclass(frozen=True)
class UrlRules:
    """URL rules, applied before method rules."""

    denied: tuple[str, ...]
    pauses: tuple[str, ...]
    proceeds: tuple[str, ...]
    #: Rules about the bodies of requests that would proceed.
    content: tuple[str, ...]


@dataclass(frozen=True)
class Service:
    """A credential that the agent may use."""

    credential: str
    description: str
    allowed_hosts: tuple[str, ...]
    target_example: str | None
    methods: tuple[MethodOutcome, ...]
    url_rules: UrlRules
    #: True if every request needs a reason.
    reason_required: bool


@dataclass(frozen=True)
class Services:
    """Every service of an agent."""

    #: Name of the agent.
    agent: str
    services: tuple[Service, ...]


@dataclass(frozen=True)
class PendingApproval:
    """A request that a person must approve. Show `agent_hint` to your person."""

    #: `pending`, or `approved` while the request is being sent.
    status: str
    txn_id: str
    poll_url: str
    #: The page on which the person decides.
    approval_url: str
    expires_at: Time
    expires_in: int
    notification_channel: str
    #: One sentence for the person.
    agent_hint: str


@dataclass(frozen=True)
class HeaderBytes:
    """A header value that is not UTF-8, in base64."""

    index: int
    name: str
    value: str


@dataclass(frozen=True)
class KeptResponse:
    """A stored response, as the server writes it."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: str
    #: `utf-8` or `base64`.
    body_encoding: str
    truncated: bool
    headers_base64: tuple[HeaderBytes, ...] = ()


@dataclass(frozen=True)
class Transaction:
    """A request that needed approval, as it stands."""

    txn_id: str
    #: `pending`, `approved`, `denied` or `expired`.
    status: str
    created_at: Time
    expires_at: Time
    decided_at: Time | None
    #: The approver's reason for a denial.
    reason: str | None
    upstream_status: int | None
    response: KeptResponse | None
    #: `upstream_error`, `upstream_timeout`, `no_longer_allowed` or `outcome_unknown`.
    error: str | None
    #: With `error`: the same in a sentence.
    detail: str | None = None
    #: With `error`, if a person can fix it: the page for that.
    url: str | None = None


@dataclass(frozen=True)
class UpstreamResponse:
    """The upstream's response, whatever its status. Secrets in it are replaced by `[REDACTED:…]`."""

    status: int
    #: Header lines in their order; names are in lower case.
    headers: Sequence[tuple[str, str]]
    body: bytes = field(repr=False)
    #: True if the body is only its beginning.
    truncated: bool = False

    def header(self, name: str) -> str | None:
        """The first value of a header."""
        wanted = name.lower()
        return next((value for found, value in self.headers if found == wanted), None)

    def text(self) -> str:
        """The body as UTF-8, with a replacement character for what is not."""
        return self.body.decode("utf-8", "replace")
