import { ConnectionError, type Pyxis, ResponseError, type Score, type ScorerId } from "@pyxis/sdk";

import { withTimeLimit } from "./time-limit.js";

/** Place that scores come from. It rejects where there is no answer, and never invents one. */
export type ScoreSource = (address: string, options: { signal: AbortSignal }) => Promise<Score>;

/** Reads scores from Pyxis itself. For code that keeps its key: a server key must not be in a page. */
export function fromPyxis(pyxis: Pyxis, scorerId: ScorerId): ScoreSource {
  return (address, { signal }) => pyxis.score(scorerId, address, { signal });
}

/** Milliseconds without a response from a route, after which a read is given up. */
const TIMEOUT_MS = 60_000;

/** Reads scores from a route of your own server, `GET {route}/{address}`, which keeps the key. */
export function fromRoute(route: string, { timeoutMs = TIMEOUT_MS }: { timeoutMs?: number } = {}): ScoreSource {
  return async (address, { signal: caller }) => {
    const url = `${route.replace(/\/$/, "")}/${encodeURIComponent(address)}`;
    const [response, text] = await withTimeLimit(timeoutMs, caller, async (signal) => {
      const response = await fetch(url, { signal, headers: { accept: "application/json" } });
      return [response, await response.text()] as const;
    }).catch((error: unknown) => {
      caller.throwIfAborted();
      throw new ConnectionError(`no response from ${route}`, false, error);
    });
    const body = parseJson(text);
    if (response.ok && isScore(body)) return body;
    throw toError(response, body);
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function isScore(body: unknown): body is Score {
  const score = body as Partial<Score> | null;
  return typeof score?.passing_score === "boolean" && typeof score.score === "string";
}

function toError(response: Response, body: unknown): ResponseError {
  const { code, detail } = (body ?? {}) as { code?: string; detail?: string };
  const seconds = response.headers.get("retry-after");
  return new ResponseError({
    status: response.status,
    code: code ?? null,
    title: response.statusText || `HTTP ${response.status}`,
    detail: detail ?? "the route has no score for this address",
    requestId: response.headers.get("x-request-id"),
    retryAfterMs: seconds && /^\d+$/.test(seconds) ? 1000 * Number(seconds) : null,
    body,
  });
}
