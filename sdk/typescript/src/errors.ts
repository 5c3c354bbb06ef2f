/** Base of every error of this package. An abort by the caller is not one: the signal's reason is thrown instead. */
export class PyxisError extends Error {
  override readonly name: string = "PyxisError";
}

/** Option that cannot be used. Nothing was sent. */
export class ConfigurationError extends PyxisError {
  override readonly name = "ConfigurationError";
}

/** Failure of a request, after its last attempt. */
export abstract class RequestError extends PyxisError {
  /** Number of times that the request was sent. */
  attempts = 1;

  /** Notes the number of attempts, also in the message. */
  afterAttempts(attempts: number): this {
    this.attempts = attempts;
    if (attempts > 1) this.message = `given up after ${attempts} attempts: ${this.message}`;
    return this;
  }
}

/** No response: no connection, one that broke off, or silence until the timeout. Nobody knows if it was executed. */
export class ConnectionError extends RequestError {
  override readonly name = "ConnectionError";

  constructor(
    message: string,
    /** True if the timeout ended it. */
    readonly timedOut: boolean,
    cause?: unknown,
  ) {
    super(message, { cause });
  }
}

/** Entry of a list that the server refused. */
export interface InvalidEntry {
  index: number;
  value: string;
  reason: string;
}

/** Members of a {@link ResponseError}. */
export interface Failure {
  status: number;
  code: string | null;
  title: string;
  detail: string;
  requestId: string | null;
  retryAfterMs: number | null;
  body: unknown;
}

/** Refusal or failure that the server responded with. */
export class ResponseError extends RequestError implements Failure {
  override readonly name = "ResponseError";
  readonly status: number;
  /** Stable code, such as `denied_by_policy`. Null where the API has none, as the Stamps API. */
  readonly code: string | null;
  /** Status in words. */
  readonly title: string;
  /** Fault in a sentence for people; it can change. */
  readonly detail: string;
  /** Id under which the server's log has more. */
  readonly requestId: string | null;
  /** Milliseconds after which the server wants to be asked again. */
  readonly retryAfterMs: number | null;
  /** Whole body, with members such as `agent_action` and `field`: parsed JSON, or text. */
  readonly body: unknown;

  constructor(failure: Failure) {
    super(`${failure.status}: ${failure.detail}`);
    this.status = failure.status;
    this.code = failure.code;
    this.title = failure.title;
    this.detail = failure.detail;
    this.requestId = failure.requestId;
    this.retryAfterMs = failure.retryAfterMs;
    this.body = failure.body;
  }

  /** Entries of a list that are not what they should be: the first 20, by their place in the list. */
  get invalid(): InvalidEntry[] {
    const entries = (this.body as { invalid?: InvalidEntry[] } | null)?.invalid;
    return Array.isArray(entries) ? entries : [];
  }
}
