// The client, on the server only: no variable here begins with NEXT_PUBLIC_, so no page gets the key.

import { Pyxis } from "@pyxis/sdk";

/** Makes the client when a request comes, because a build has no key. */
export function connect(): { pyxis: Pyxis; scorerId: string } {
  const { PYXIS_SCORER_ID = "1" } = process.env;
  // A visitor is waiting, so it gives up sooner than a script would.
  const retry = { attempts: 3, maxWaitMs: 2_000 };
  const pyxis = new Pyxis({ url: read("PYXIS_URL"), apiKey: read("PYXIS_API_KEY"), timeoutMs: 10_000, retry });
  return { pyxis, scorerId: PYXIS_SCORER_ID };
}

/** Value of a variable. The error goes to the log, not to the page. */
function read(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: export it and start again (README.md)`);
  return value;
}
