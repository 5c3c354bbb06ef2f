"""Keys that make a repeated request the same request."""

from __future__ import annotations

import uuid


def new_idempotency_key() -> str:
    """A key that no other request has."""
    return str(uuid.uuid4())
