"""A key that nothing prints by accident."""

from __future__ import annotations

from typing import NoReturn

from pyxis.errors import InvalidArgumentError

MAX_LENGTH = 1024


class Secret:
    """A key for a header. Neither `repr`, `str` nor `pickle` shows it."""

    __slots__ = ("__value",)

    def __init__(self, name: str, value: str) -> None:
        if not isinstance(value, str) or not value:
            raise InvalidArgumentError(f"{name} is empty: pass the key as text")
        # An HTTP library would name the value in its own error.
        if len(value) > MAX_LENGTH or any(not "!" <= character <= "~" for character in value):
            raise InvalidArgumentError(f"{name} has spaces, line ends or characters that no key has: copy it again")
        self.__value = value

    def expose(self) -> str:
        """The key itself, for the header of a request."""
        return self.__value

    def __repr__(self) -> str:
        return "Secret(…)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key is not pickled")
