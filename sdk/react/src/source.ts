import { ConnectionError, type Pyxis, ResponseError, type Score, type ScorerId } from "@pyxis/sdk";

/** Place that scores come from. It rejects where there is no answer, and never invents one. */
export type ScoreSource = (address: string, options: { signal: AbortSignal }) => Promise<Score>;

/** Reads scores from Pyxis itself, with a key that anyone who opens the page can read. */
export function fromPyxis(pyxis: Pyxis, scorerId: ScorerId): ScoreSource {
  return (address, { signal }) => pyxis.score(scorerId, address, { signal });
}

/** Reads scores from a route of your own server, `GET {route}/{address}`, which keeps the key. */
export function fromRoute(route: string): ScoreSource {
  return async (address, { signal }) => {
    const url = `${route.replace(/\/$/, "")}/${encodeURIComponent(address)}`;
    const response = await fetch(url, { signal, headers: { accept: "application/json" } }).catch((error: unknown) => {
      signal.throwIfAborted();
      throw new ConnectionError(`no response from ${route}`, false, error);
    });
    const body: unknown = await response.json().catch(() => null);
    signal.throwIfAborted();
    if (response.ok && isScore(body)) return body;
    throw toError(response, body);
  };
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
