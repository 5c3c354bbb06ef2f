"""Public names of the package."""

from __future__ import annotations

import inspect
from importlib.metadata import metadata, version
from importlib.resources import files
from typing import Any

import pytest

import pyxis
from pyxis import errors
from pyxis.agent import Agent, AsyncAgent


def methods(kind: type) -> dict[str, Any]:
    """The public methods of a class."""
    return {name: method for name, method in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}


@pytest.mark.parametrize(("sync", "asynchronous"), [(pyxis.Pyxis, pyxis.AsyncPyxis), (Agent, AsyncAgent)])
def test_both_clients_have_the_same_methods_parameters_and_words(sync: type, asynchronous: type) -> None:
    assert methods(sync).keys() == methods(asynchronous).keys()
    for name, method in methods(sync).items():
        other = methods(asynchronous)[name]
        assert inspect.signature(method).parameters == inspect.signature(other).parameters, name
        assert method.__doc__ == other.__doc__, name
        assert inspect.iscoroutinefunction(other) or inspect.isasyncgenfunction(other), name


def test_every_error_can_be_imported_and_has_one_base() -> None:
    for name, found in vars(errors).items():
        if inspect.isclass(found) and issubclass(found, Exception):
            assert getattr(pyxis, name) is found
            assert issubclass(found, pyxis.PyxisError)


def test_the_package_is_typed_and_knows_its_version() -> None:
    assert files("pyxis").joinpath("py.typed").is_file()
    assert version("pyxis-client") == pyxis.__version__
    assert metadata("pyxis-client")["Requires-Python"] == ">=3.10"
