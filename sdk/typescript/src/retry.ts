import { ConnectionError, type RequestError, ResponseError } from "./errors.js";

/** Rule by which requests are repeated. */
export interface RetryOptions {
  /** Times that a request is sent at most [default: 5]. 1 repeats nothing. */
  attempts?: number;
  /** Delay before the second attempt in milliseconds [default: 500]. Each further one is twice as long. */
  firstDelayMs?: number;
  /**
   * Longest wait that the server may ask for in `Retry-After`, in milliseconds [default: 60000]. If it asks for more,
   * the error is thrown at once, with `retryAfterMs`.
   */
  maxWaitMs?: number;
  /** Changes a delay, so that many clients do not return together [default: adds up to a quarter]. */
  jitter?: (delayMs: number) => number;
}

/** {@link RetryOptions} with their defaults. */
export type RetryRule = Required<RetryOptions>;

const DEFAULTS: RetryRule = {
  attempts: 5,
  firstDelayMs: 500,
  maxWaitMs: 60_000,
  jitter: (delayMs) => delayMs * (1 + Math.random() / 4),
};

/** Fills in the defaults. */
export function retryRule(options: RetryOptions = {}): RetryRule {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return { ...DEFAULTS, ...Object.fromEntries(given) };
}

/** Milliseconds to wait after the failed attempt, counted from 1, or null if it was the last one. */
export function delayAfter(error: RequestError, attempt: number, rule: RetryRule): number | null {
  if (attempt >= rule.attempts) return null;
  const requested = error instanceof ResponseError ? (error.retryAfterMs ?? 0) : 0;
  if (requested > rule.maxWaitMs) return null;
  return Math.max(requested, rule.jitter(rule.firstDelayMs * 2 ** (attempt - 1)));
}

/** Decision that a request may be sent again after this failure. */
export type Repeatable = (error: RequestError) => boolean;

/** Requests that change nothing, or the same thing once: after silence, a server in trouble, or a limit. */
export const repeatRead: Repeatable = (error) =>
  error instanceof ConnectionError || (error instanceof ResponseError && [429, 502, 503, 504].includes(error.status));

/** Requests that change something: after a limit only, because it refused them before anything happened. */
export const repeatRefused: Repeatable = (error) =>
  error instanceof ResponseError && error.status === 429 && (error.code === null || error.code === "rate_limited");

/** Forward requests that the server recognizes: after silence, or where nothing was sent to the target. */
export const repeatRecognized: Repeatable = (error) => {
  if (error instanceof ConnectionError || repeatRefused(error)) return true;
  return error instanceof ResponseError && (error.status === 503 || error.code === "idempotency_in_progress");
};
