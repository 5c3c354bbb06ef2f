"""Client of Pyxis: scores of EVM addresses and checks of proofs of personhood.

Requests of agents are in `pyxis.agent`.
"""

from pyxis._version import __version__
from pyxis.async_client import AsyncPyxis
from pyxis.client import Pyxis
from pyxis.core.retry import RetryPolicy
from pyxis.errors import (
    ApiError,
    ApprovalDeniedError,
    ApprovalError,
    ApprovalExpiredError,
    AuthenticationError,
    BadRequestError,
    ConflictError,
    InvalidArgumentError,
    InvalidEntry,
    InvalidResponseError,
    NotCompletedError,
    NotFoundError,
    OutcomeUnknownError,
    PermissionDeniedError,
    PyxisError,
    RateLimitedError,
    ResponseTimeoutError,
    ServerError,
    StillPendingError,
    TransportError,
    UnavailableError,
    UnprocessableError,
    UpstreamError,
)
from pyxis.model.catalogue import CatalogueStamp, Platform, PlatformGroup
from pyxis.model.score import ExplainedStamp, FailedScore, FailedScoreReason, Score, ScoreExplanation, StampScore
from pyxis.model.signed import Eip712Score, JwtScore, ScoreKey, ScoreKeys, TokenKeys
from pyxis.model.stamp import PlatformHead, Stamp, StampMetadata, StampOutcome, StampPage, StampRejection
from pyxis.model.verification import UNIVERSAL_ACTION, CleanHands, ProofKind, Verification
from pyxis.model.wallet import ModelName, ModelScore
from pyxis.pace import AsyncPace, Pace

__all__ = [
    "UNIVERSAL_ACTION",
    "ApiError",
    "ApprovalDeniedError",
    "ApprovalError",
    "ApprovalExpiredError",
    "AsyncPace",
    "AsyncPyxis",
    "AuthenticationError",
    "BadRequestError",
    "CatalogueStamp",
    "CleanHands",
    "ConflictError",
    "Eip712Score",
    "ExplainedStamp",
    "FailedScore",
    "FailedScoreReason",
    "InvalidArgumentError",
    "InvalidEntry",
    "InvalidResponseError",
    "JwtScore",
    "ModelName",
    "ModelScore",
    "NotCompletedError",
    "NotFoundError",
    "OutcomeUnknownError",
    "Pace",
    "PermissionDeniedError",
    "Platform",
    "PlatformGroup",
    "PlatformHead",
    "ProofKind",
    "Pyxis",
    "PyxisError",
    "RateLimitedError",
    "ResponseTimeoutError",
    "RetryPolicy",
    "Score",
    "ScoreExplanation",
    "ScoreKey",
    "ScoreKeys",
    "ServerError",
    "Stamp",
    "StampMetadata",
    "StampOutcome",
    "StampPage",
    "StampRejection",
    "StampScore",
    "StillPendingError",
    "TokenKeys",
    "TransportError",
    "UnavailableError",
    "UnprocessableError",
    "UpstreamError",
    "Verification",
    "__version__",
]
