"""Gets the score of an address with the Python client (sdk/python)."""

import os
import sys

from pyxis import Pyxis, PyxisError


def main() -> None:
    timeout = float(os.environ.get("PYXIS_TIMEOUT_SECONDS", "60"))
    try:
        # It repeats what is safe to repeat, and waits as long as the server asks it to.
        with Pyxis(os.environ["PYXIS_URL"], api_key=os.environ["PYXIS_API_KEY"], timeout=timeout) as client:
            score = client.score(int(os.environ["PYXIS_SCORER_ID"]), sys.argv[1])
    except PyxisError as error:
        sys.exit(str(error))
    print(score.score, "passes" if score.passing_score else "does not pass")


if __name__ == "__main__":
    main()
