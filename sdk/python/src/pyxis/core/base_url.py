"""The address of the server, and whether a key may be sent there."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from pyxis.errors import InvalidArgumentError


class BaseUrl:
    """An absolute URL without user name, query and fragment."""

    def __init__(self, text: str) -> None:
        text = text.strip()
        try:
            parts = urlsplit(text)
            port = parts.port
        except ValueError:
            raise InvalidArgumentError("base_url is not a URL: write https://host or https://host:port") from None
        if parts.scheme not in ("https", "http") or not parts.hostname:
            raise InvalidArgumentError("base_url must begin with https:// or http:// and name a host")
        if "@" in parts.netloc:
            raise InvalidArgumentError("base_url must not hold a user name or password: pass the key as an argument")
        if parts.query or parts.fragment:
            raise InvalidArgumentError("base_url must end before ? and #")
        self.is_loopback = _is_loopback(parts.hostname)
        self.is_encrypted = parts.scheme == "https"
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        self.text = f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path.rstrip('/')}"

    def check_key(self, name: str) -> None:
        """Refuse to send a key where others on the network can read it."""
        if not self.is_encrypted and not self.is_loopback:
            raise InvalidArgumentError(
                f"{name} would be sent unencrypted to {self.text}: use https://, or http:// on loopback only"
            )


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
