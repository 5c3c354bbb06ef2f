"""Requests of agents: services, forwarded requests and approvals."""

from pyxis.agent.async_client import AsyncAgent
from pyxis.agent.client import Agent
from pyxis.agent.model import (
    KeptResponse,
    MethodOutcome,
    PendingApproval,
    Service,
    Services,
    Transaction,
    UpstreamResponse,
    UrlRules,
)

__all__ = [
    "Agent",
    "AsyncAgent",
    "KeptResponse",
    "MethodOutcome",
    "PendingApproval",
    "Service",
    "Services",
    "Transaction",
    "UpstreamResponse",
    "UrlRules",
]
