"""The built program as a process, with sample data in a directory of its own."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import httpx


def program() -> str:
    """The program that PX_TEST_PYXIS names."""
    found = os.environ.get("PX_TEST_PYXIS")
    if not found:
        raise RuntimeError("PX_TEST_PYXIS must name the built program; run ci/sdk-python.sh")
    return found


class Server:
    """`pyxis quickstart` on a free port of loopback."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._environment = {"PX_DATA_DIR": str(directory / "data"), "PX_METRICS_LISTEN": "off"}
        bootstrap = json.loads(self.command("bootstrap", "--json"))
        self.agent_key: str = bootstrap["agent_key"]
        #: A key that may not read the history.
        self.plain_api_key: str = bootstrap["api_key"]
        self._session: str = bootstrap["owner_session_token"]
        with (directory / "server.log").open("wb") as log:
            self._process = subprocess.Popen(
                [program(), "quickstart", "--json", "--listen", "127.0.0.1:0"],
                cwd=directory,
                env=self._environment,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        address, sample = (self._line() for _ in range(2))
        self.base_url: str = address["base_url"]
        self.api_key: str = sample["api_key"]
        self.command("api-key", "allow-history", self._api_key_id("quickstart"))
        self.scorer_id: int = sample["scorer_id"]
        self.demo_target: str = sample["demo_target"]
        self.proved_address: str = sample["proved_address"]
        self.sample_addresses: list[str] = sample["sample_addresses"]

    def command(self, *arguments: str) -> str:
        """Output of a command of the program."""
        return subprocess.run(
            [program(), *arguments],
            cwd=self._directory,
            env=self._environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    def _api_key_id(self, name: str) -> str:
        """The id of an API key."""
        keys = json.loads(self.command("api-key", "list", "--json"))
        found: str = next(key["id"] for key in keys if key["name"] == name)
        return found

    def decide(self, txn_id: str, decision: str, reason: str | None = None) -> None:
        """Approve or deny a request as the owner."""
        response = httpx.post(
            f"{self.base_url}/approvals/{txn_id}/{decision}",
            headers={"authorization": f"Bearer {self._session}"},
            json={} if reason is None else {"reason": reason},
        )
        response.raise_for_status()

    def stop(self) -> None:
        """End the process and wait for it."""
        self._process.terminate()
        self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()

    def _line(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError((self._directory / "server.log").read_text())
        found: dict[str, Any] = json.loads(line)
        return found
