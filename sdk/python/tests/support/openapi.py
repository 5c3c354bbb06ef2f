"""The server's OpenAPI document, and questions about its schemas."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[4]
SNAPSHOT = REPOSITORY / "crates/pyxis/tests/it/snapshots/it__openapi__the_whole_document_is_as_it_was_looked_at.snap"


@lru_cache(maxsize=1)
def document() -> dict[str, Any]:
    """The document that the server's own tests hold it to."""
    _, _, body = SNAPSHOT.read_text().split("---\n", 2)
    found: dict[str, Any] = json.loads(body)
    return found


def resolve(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema behind its references."""
    while "$ref" in schema:
        found: Any = document()
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        schema = found
    return schema


def without_null(schema: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """A schema without null, and whether it allowed null."""
    schema = resolve(schema)
    if "oneOf" in schema:
        others = [each for each in schema["oneOf"] if resolve(each).get("type") != "null"]
        if len(others) == 1:
            return resolve(others[0]), len(schema["oneOf"]) == 2
    kind = schema.get("type")
    if isinstance(kind, list):
        (other,) = (each for each in kind if each != "null")
        return {**schema, "type": other}, "null" in kind
    return schema, False


def operation(method: str, path: str) -> dict[str, Any]:
    """One operation."""
    found: dict[str, Any] = document()["paths"][path][method.lower()]
    return found


def parameters(found: dict[str, Any], place: str) -> dict[str, dict[str, Any]]:
    """The parameters of an operation in `path`, `query` or `header`."""
    every = (resolve(each) for each in found.get("parameters", []))
    return {each["name"]: each for each in every if each["in"] == place}


def json_schema(content: dict[str, Any]) -> dict[str, Any]:
    """The schema of a JSON body."""
    return resolve(resolve(content)["content"]["application/json"]["schema"])
