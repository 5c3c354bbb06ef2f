"""Gets the score of an address. Standard library only."""

import http.client
import json
import os
import random
import sys
import time
import urllib.error
import urllib.request

TIMEOUT = 60.0  # seconds without an answer, after which a request is given up
ATTEMPTS = 5
FIRST_DELAY = 0.5  # seconds; each delay is twice the one before
AGAIN = {429, 502, 503, 504}


class ScoringError(Exception):
    """The answer was a refusal, or there was none."""


def ask(request, timeout):
    """The status, headers and body of the answer."""
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:
            return response.status, response.headers, response.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


def get_score(base_url, api_key, scorer_id, address, timeout=TIMEOUT):
    """The score record of an address, as a dict."""
    request = urllib.request.Request(
        f"{base_url.rstrip('/')}/v2/stamps/{scorer_id}/score/{address}",
        headers={"X-API-KEY": api_key},
    )
    problem = None
    delay = FIRST_DELAY
    for attempt in range(1, ATTEMPTS + 1):
        pause = delay * random.uniform(1, 1.25)  # so that many clients do not come back together
        try:
            status, headers, body = ask(request, timeout)
        except (OSError, http.client.HTTPException) as error:  # no connection, or no answer to its end in time
            problem = str(error)
        else:
            if status == 200:
                return json.loads(body)
            problem = f"{status}: {body.decode(errors='replace')}"
            if status not in AGAIN:
                raise ScoringError(problem)
            pause = max(pause, float(headers.get("Retry-After") or 0))
        if attempt < ATTEMPTS:
            time.sleep(pause)
            delay *= 2
    raise ScoringError(f"given up after {ATTEMPTS} attempts: {problem}")


def main():
    timeout = float(os.environ.get("PYXIS_TIMEOUT_SECONDS", TIMEOUT))
    try:
        record = get_score(
            os.environ["PYXIS_URL"],
            os.environ["PYXIS_API_KEY"],
            os.environ["PYXIS_SCORER_ID"],
            sys.argv[1],
            timeout,
        )
    except ScoringError as error:
        sys.exit(str(error))
    print(record["score"], "passes" if record["passing_score"] else "does not pass")


if __name__ == "__main__":
    main()
