import { toHeaderValue } from "./bytes.js";
import { pause } from "./clock.js";
import { PyxisError } from "./errors.js";
import { parseRetryAfter } from "./failure.js";
import { toResponse } from "./kept-response.js";
import { repeatRead, repeatRecognized, repeatRefused } from "./retry.js";
import { fillPath, queryString } from "./routes.js";
import { type CallOptions, type ClientOptions, type RepeatableBody, Transport } from "./transport.js";
import type { Outcome, Paused, Services } from "./types.js";

export { ConfigurationError, ConnectionError, PyxisError, RequestError, ResponseError } from "./errors.js";
export { toResponse } from "./kept-response.js";
export type { CallOptions, ClientOptions, RepeatableBody } from "./transport.js";
export type { KeptResponse, Outcome, Paused, Services } from "./types.js";

/** Methods that change nothing at the target, so they can be repeated. */
const SAFE = ["GET", "HEAD", "OPTIONS"];
/** Seconds that one poll waits at the server. */
const POLL_SECONDS = 30;

/** Options of an agent. */
export interface AgentOptions extends ClientOptions {
  /** Agent key. It belongs on a server: pages of other origins may not forward. */
  agentKey: string | undefined;
}

/** Request to a target, with a credential that the agent never sees. */
export interface ForwardRequest extends CallOptions {
  /** Name of the stored credential. */
  credential: string;
  /** Absolute URL. */
  target: string | URL;
  /** Method at the target [default: GET]. */
  method?: string;
  /** Headers for the target. */
  headers?: ConstructorParameters<typeof Headers>[0];
  body?: RepeatableBody;
  /** Reason that the approver reads. */
  reason?: string;
  /** Text of 1 to 255 bytes. With it, the request is sent once in 24 hours, however often it is repeated. */
  idempotencyKey?: string;
  /** Seconds to hold the connection for a decision, at most 60. */
  wait?: number;
}

/** Response of the target, or the request for approval. */
export type ForwardResult = { pending: false; response: Response } | { pending: true; paused: Paused };

/** Approval that ended without a response of the target: denied, expired, or with an `error`. */
export class ApprovalError extends PyxisError {
  override readonly name = "ApprovalError";

  constructor(readonly outcome: Outcome) {
    super(describeEnd(outcome));
  }
}

/** Sends requests through the credential proxy, and waits for people's approval. */
export class Agent {
  readonly #transport: Transport;
  readonly #timeoutMs: number;

  constructor(options: AgentOptions) {
    this.#timeoutMs = options.timeoutMs ?? 60_000;
    this.#transport = new Transport(options, { header: "x-px-key", option: "agentKey", key: options.agentKey });
  }

  /** Lists the credentials that this agent may use, with hosts and the outcome by method. */
  services({ signal }: CallOptions = {}): Promise<Services> {
    return this.#transport.json({ method: "GET", path: "/agent/services", repeatable: repeatRead, signal });
  }

  /**
   * Sends a request. The response is the target's, whatever its status; a failure of Pyxis is a `ResponseError`. A
   * request that changes something is repeated only with an idempotency key, or after a limit refused it.
   */
  async forward(request: ForwardRequest): Promise<ForwardResult> {
    const { body, idempotencyKey, method = "GET", signal, wait = 0 } = request;
    const isSafe = SAFE.includes(method.toUpperCase());
    const call = {
      method: "POST",
      path: "/forward",
      headers: controlHeaders(request),
      body,
      signal,
      repeatable: isSafe || idempotencyKey !== undefined ? repeatRecognized : repeatRefused,
      timeoutMs: this.#timeoutMs + 1000 * wait,
    };
    const response = await this.#transport.response(call, isOfTarget);
    if (isOfTarget(response)) return { pending: false, response };
    return { pending: true, paused: (await response.json()) as Paused };
  }

  /**
   * Sends a request, waits for approval if it needs one, and returns the target's response. `onPending` gets the
   * sentence and the link that a person needs.
   */
  async send(request: ForwardRequest, { onPending }: { onPending?: (paused: Paused) => void } = {}): Promise<Response> {
    const result = await this.forward(request);
    if (!result.pending) return result.response;
    onPending?.(result.paused);
    const outcome = await this.waitForOutcome(result.paused.txn_id, request);
    if (!outcome.response) throw new ApprovalError(outcome);
    return toResponse(outcome.response);
  }

  /** State of a request that needed approval. Waits up to `wait` seconds for its end. */
  async outcome(txnId: string, { wait = 0, signal }: CallOptions & { wait?: number } = {}): Promise<Outcome> {
    return (await this.#poll(txnId, wait, signal)).outcome;
  }

  /** Waits for the end of a request that needed approval, until the caller aborts. */
  async waitForOutcome(txnId: string, { signal }: CallOptions = {}): Promise<Outcome> {
    for (;;) {
      const { outcome, pauseMs } = await this.#poll(txnId, POLL_SECONDS, signal);
      if (pauseMs === null) return outcome;
      await pause(pauseMs, signal);
    }
  }

  /** Withdraws a request that waits for approval. */
  async withdraw(txnId: string, { signal }: CallOptions = {}): Promise<void> {
    const path = fillPath("/agent/approvals/{txn_id}", { txn_id: txnId });
    await this.#transport.json({ method: "DELETE", path, repeatable: repeatRefused, signal });
  }

  /** The server says with `Retry-After` that the outcome is not final. */
  async #poll(txnId: string, wait: number, signal: AbortSignal | undefined): Promise<{ outcome: Outcome; pauseMs: number | null }> {
    const path = fillPath("/agent/approvals/{txn_id}", { txn_id: txnId }) + queryString({ wait });
    const timeoutMs = this.#timeoutMs + 1000 * wait;
    const call = { method: "GET", path, repeatable: repeatRead, signal, timeoutMs };
    const response = await this.#transport.response(call, () => false);
    const pauseMs = parseRetryAfter(response.headers.get("retry-after"), Date.now());
    return { outcome: (await response.json()) as Outcome, pauseMs };
  }
}

/** The server marks its failures and its requests for approval, and takes these marks from a target's response. */
function isOfTarget({ headers }: Response): boolean {
  return !headers.has("px-error") && !headers.has("px-txn");
}

function controlHeaders({ credential, target, method, headers, reason, idempotencyKey, wait }: ForwardRequest): Headers {
  const all = new Headers(headers);
  all.set("x-px-credential", credential);
  all.set("x-px-target", String(target));
  all.set("x-px-method", method ?? "GET");
  if (reason !== undefined) all.set("x-px-reason", toHeaderValue(reason));
  if (idempotencyKey !== undefined) all.set("idempotency-key", idempotencyKey);
  if (wait) all.append("prefer", `wait=${wait}`);
  return all;
}

function describeEnd({ status, reason, error, detail }: Outcome): string {
  if (error) return `${error}: ${detail ?? "the request was approved but not completed"}`;
  if (status === "denied") return `the request was denied${reason ? `: ${reason}` : ""}`;
  return status === "expired" ? "the approval expired; nothing was sent" : "the response is no longer kept";
}
