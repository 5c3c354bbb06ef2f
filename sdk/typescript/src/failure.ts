import type { Failure } from "./errors.js";

/** Longest text of a body that is no JSON, which stands in an error. */
const EXCERPT = 200;

/** Reads a failure from a response and its body, in each of the server's three forms. */
export function parseFailure(response: Response, text: string): Failure {
  const body = parseJson(text);
  const members = (typeof body === "object" && body !== null ? body : {}) as Record<string, unknown>;
  return {
    status: response.status,
    code: asText(members["code"]) ?? response.headers.get("px-error"),
    title: asText(members["title"]) ?? (response.statusText || `HTTP ${response.status}`),
    detail: describe(response, members) ?? (text.slice(0, EXCERPT) || "the response has no body"),
    requestId: asText(members["request_id"]) ?? response.headers.get("x-request-id"),
    retryAfterMs: parseRetryAfter(response.headers.get("retry-after"), Date.now()),
    body: body ?? text,
  };
}

/** Milliseconds in a `Retry-After`, which has seconds or, from a proxy in front, a date. */
export function parseRetryAfter(value: string | null, nowMs: number): number | null {
  if (value === null) return null;
  if (/^\d+$/.test(value)) return 1000 * Number(value);
  const date = Date.parse(value);
  return Number.isNaN(date) ? null : Math.max(0, date - nowMs);
}

/** `detail` of a problem or of the Stamps API, which can be a list, or `error` of the checks. */
function describe(response: Response, members: Record<string, unknown>): string | null {
  if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400)) {
    const target = response.headers.get("location");
    return `the server redirects${target ? ` to ${target}` : ""}, and a key is not sent on: correct url`;
  }
  const { detail, error } = members;
  if (Array.isArray(detail)) return detail.map(describeParameter).join("; ");
  return asText(detail) ?? asText(error);
}

function describeParameter(entry: { loc?: (string | number)[]; msg?: string }): string {
  return `${entry.loc?.join(".") ?? "parameter"}: ${entry.msg ?? "invalid"}`;
}

function asText(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
