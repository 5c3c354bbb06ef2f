// Gets the score of an address. The package waits and repeats by the rule of examples/README.md.

import { Pyxis, PyxisError } from "@pyxis/sdk";

async function main(): Promise<void> {
  const { PYXIS_URL, PYXIS_API_KEY, PYXIS_SCORER_ID, PYXIS_TIMEOUT_SECONDS } = process.env;
  const address = process.argv[2];
  if (!PYXIS_URL || !PYXIS_API_KEY || !PYXIS_SCORER_ID || !address) {
    throw new Error("set PYXIS_URL, PYXIS_API_KEY and PYXIS_SCORER_ID, and name an address");
  }
  const timeoutMs = 1000 * Number(PYXIS_TIMEOUT_SECONDS ?? 60);
  // A script may wait for the end of a limit, however far it is.
  const retry = { maxWaitMs: Infinity };
  const pyxis = new Pyxis({ url: PYXIS_URL, apiKey: PYXIS_API_KEY, timeoutMs, retry });
  const { score, passing_score } = await pyxis.score(PYXIS_SCORER_ID, address);
  console.log(score, passing_score ? "passes" : "does not pass");
}

main().catch((error: Error) => {
  console.error(error instanceof PyxisError ? error.message : error);
  process.exitCode = 1;
});
