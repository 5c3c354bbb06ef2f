"""The hand-written types and operations agree with the server's OpenAPI document."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import is_dataclass
from datetime import datetime
from decimal import Decimal
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest

from pyxis.agent import plans
from pyxis.agent.model import MethodOutcome, PendingApproval
from pyxis.core import scoring, signed, verification
from pyxis.core.decode import Wire, members
from pyxis.core.endpoint import Endpoint
from pyxis.model.verification import ProofKind
from pyxis.model.wallet import ModelName
from tests.support.openapi import document, json_schema, operation, parameters, resolve, without_null

ENDPOINTS = {
    f"{endpoint.method} {endpoint.path}{' signed' * ('signed' in endpoint.query)}": endpoint
    for module in (scoring, signed, verification, plans)
    for endpoint in vars(module).values()
    if isinstance(endpoint, Endpoint)
}


def agree(kind: Any, schema: dict[str, Any], place: str) -> None:
    """Fail unless every value that the schema allows can be read as `kind`."""
    if get_origin(kind) is Annotated and isinstance(kind.__metadata__[0], Wire):
        return agree(get_args(kind)[0], schema, place)
    schema, nullable = without_null(schema)
    if get_origin(kind) in (Union, UnionType):
        kinds = [each for each in get_args(kind) if each is not NoneType]
        if len(kinds) > 1:
            return agree_one_of(kinds, schema, place)
        (kind,) = kinds
    else:
        assert not nullable, f"{place} can be null"
    if get_origin(kind) is Annotated:
        return agree_scalar(kind, schema, place)
    if get_origin(kind) is tuple:
        assert schema["type"] == "array", place
        if get_args(kind)[-1] is Ellipsis:
            return agree(get_args(kind)[0], schema["items"], f"{place}[]")
        assert (schema["minItems"], schema["maxItems"]) == (len(get_args(kind)),) * 2, place
        return agree(get_args(kind)[0], schema["items"], f"{place}[]")
    if get_origin(kind) is Mapping:
        assert schema["type"] == "object", place
        if get_args(kind)[1] is object:
            return None
        return agree(get_args(kind)[1], schema["additionalProperties"], f"{place}.*")
    if is_dataclass(kind):
        return agree_members(kind, schema, place)
    expected = {str: "string", bool: "boolean", int: "integer"}[kind]
    assert schema["type"] == expected, f"{place} is {schema['type']}"
    return None


def agree_one_of(kinds: list[Any], schema: dict[str, Any], place: str) -> None:
    """Fail unless each alternative of the schema can be read as one of the kinds, and each kind is one of them."""
    alternatives = [resolve(each) for each in schema["oneOf"]]
    assert len(alternatives) == len(kinds), place
    for kind in kinds:
        names = {member.name for member in members(kind) if member.required}
        fitting = [each for each in alternatives if names == set(each["required"])]
        assert len(fitting) == 1, f"{place} has no alternative with {sorted(names)}"
        agree(kind, fitting[0], place)


def agree_members(kind: Any, schema: dict[str, Any], place: str) -> None:
    """Fail unless every field is a member, and what is required here is required there."""
    assert schema["type"] == "object", place
    for member in members(kind):
        assert member.name in schema["properties"], f"{place} has no member {member.name}"
        if member.required:
            assert member.name in schema["required"], f"{place}.{member.name} can be missing"
        agree(member.kind, schema["properties"][member.name], f"{place}.{member.name}")


def agree_scalar(kind: Any, schema: dict[str, Any], place: str) -> None:
    """Fail unless the schema is of the form that an annotation names."""
    form = kind.__metadata__[0]
    if form == "number":
        assert schema["type"] == "number", place
    elif form == "seconds":
        assert (schema["type"], schema["description"][:12]) == ("integer", "Unix seconds"), place
    elif get_args(kind)[0] is datetime:
        assert (schema["type"], schema["format"]) == ("string", "date-time"), place
    else:
        assert get_args(kind)[0] is Decimal
        assert schema["type"] == "string", place


@pytest.mark.parametrize("endpoint", ENDPOINTS.values(), ids=ENDPOINTS.keys())
def test_an_operation_and_its_parameters_exist(endpoint: Endpoint) -> None:
    found = operation(endpoint.method, endpoint.path)
    assert set(parameters(found, "path")) == set(re.findall(r"\{(\w+)\}", endpoint.path))
    assert endpoint.query <= set(parameters(found, "query"))
    assert endpoint.headers <= set(parameters(found, "header"))
    for place, sent in (("query", endpoint.query), ("header", endpoint.headers)):
        required = {name for name, each in parameters(found, place).items() if each.get("required")}
        assert required <= sent, "a required parameter is never sent"


@pytest.mark.parametrize("endpoint", ENDPOINTS.values(), ids=ENDPOINTS.keys())
def test_a_response_is_read_with_the_types_of_the_document(endpoint: Endpoint) -> None:
    responses = operation(endpoint.method, endpoint.path)["responses"]
    if endpoint is plans.WITHDRAW:
        assert "204" in responses
    elif endpoint is plans.FORWARD:
        agree(PendingApproval, json_schema(responses["202"]), "response")
    else:
        agree(endpoint.response, json_schema(responses["200"]), "response")


def test_bodies_have_the_members_of_the_document() -> None:
    sent = operation("POST", scoring.SCORES.path)["requestBody"]
    schema = json_schema(sent)
    assert set(scoring.SCORES.body or ()) == set(schema["properties"]) == set(schema["required"])
    assert schema["properties"]["addresses"]["maxItems"] == scoring.BATCH
    schema = json_schema(operation("POST", signed.SIGN_SCORE.path)["requestBody"])
    assert set(signed.SIGN_SCORE.body or ()) == set(schema["properties"])
    assert schema["required"] == ["challenge"]
    assert json_schema(operation("POST", scoring.ADD_STAMPS.path)["requestBody"])["type"] == "array"


def test_limits_and_choices_are_those_of_the_document() -> None:
    limit = resolve(parameters(operation("GET", scoring.STAMPS.path), "query")["limit"]["schema"])
    assert (limit["maximum"], limit["minimum"]) == (scoring.PAGE, 1)
    model = resolve(parameters(operation("GET", scoring.MODEL_SCORE.path), "query")["model"]["schema"])
    assert set(model["enum"]) == set(get_args(ModelName))
    kind = resolve(parameters(operation("GET", verification.UNIQUE.path), "path")["credential_type"]["schema"])
    assert set(kind["enum"]) == set(get_args(ProofKind))
    method = resolve(parameters(operation("POST", plans.FORWARD.path), "header")["X-PX-Method"]["schema"])
    assert set(method["enum"]) == plans._METHODS


def test_every_operation_is_looked_at() -> None:
    assert len(ENDPOINTS) == 19
    assert get_origin(ModelName) is Literal
    assert len(document()["paths"]) > 50


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"method": {"type": "integer"}, "outcome": {"type": "string"}}, r"place\.method is integer"),
        ({"method": {"type": ["string", "null"]}, "outcome": {"type": "string"}}, r"place\.method can be null"),
        ({"method": {"type": "string"}}, "place has no member outcome"),
    ],
)
def test_a_difference_is_found(properties: dict[str, Any], message: str) -> None:
    schema = {"type": "object", "properties": properties, "required": ["method", "outcome"]}
    with pytest.raises(AssertionError, match=message):
        agree(MethodOutcome, schema, "place")
    with pytest.raises(AssertionError, match="can be missing"):
        agree(MethodOutcome, {**schema, "required": []}, "place")
