// The client, on the server only: no variable here begins with NEXT_PUBLIC_, so no page gets the key.

import { Pyxis } from "@pyxis/sdk";

/** Makes the client when a request comes, because a build has no key. */
export function connect(): { pyxis: Pyxis; scorerId: string } {
  const { PYXIS_URL = "", PYXIS_API_KEY = "", PYXIS_SCORER_ID = "1" } = process.env;
  // A visitor is waiting, so it gives up sooner than a script would.
  const retry = { attempts: 3, maxWaitMs: 2_000 };
  return { pyxis: new Pyxis({ url: PYXIS_URL, apiKey: PYXIS_API_KEY, timeoutMs: 10_000, retry }), scorerId: PYXIS_SCORER_ID };
}
