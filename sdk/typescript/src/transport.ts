import { Deadline, pause } from "./clock.js";
import { parseEndpoint } from "./endpoint.js";
import { ConnectionError, RequestError, ResponseError } from "./errors.js";
import { parseFailure } from "./failure.js";
import { delayAfter, type Repeatable, type RetryOptions, type RetryRule, retryRule } from "./retry.js";
import { Secret } from "./secret.js";

/** Options that every client has. */
export interface ClientOptions {
  /** Address of the server, such as `https://pyxis.example.com`. */
  url: string | URL | undefined;
  /** Milliseconds without a response after which an attempt is given up [default: 60000]. */
  timeoutMs?: number;
  retry?: RetryOptions;
  /** Function to use instead of the global `fetch`. */
  fetch?: typeof fetch;
}

/** Options of one call. */
export interface CallOptions {
  /** Ends the call, its attempts and the waiting between them. */
  signal?: AbortSignal | undefined;
}

/** Body that can be sent again. */
export type RepeatableBody = string | ArrayBuffer | ArrayBufferView | Blob | URLSearchParams;

/** Request to the server. */
export interface Call extends CallOptions {
  method: string;
  path: string;
  headers?: Headers;
  body?: RepeatableBody | undefined;
  repeatable: Repeatable;
  timeoutMs?: number;
}

/** Header and key that authorize requests. */
export interface Authorization {
  header: string;
  option: string;
  key: string | undefined;
}

/** Sends requests by the rule of the documentation: a minute for each, growing delays, and `Retry-After`. */
export class Transport {
  readonly #base: string;
  readonly #header: string;
  readonly #secret: Secret | null;
  readonly #timeoutMs: number;
  readonly #rule: RetryRule;
  readonly #fetch: typeof fetch;

  constructor(options: ClientOptions, authorization: Authorization | null) {
    this.#header = authorization?.header ?? "";
    this.#secret = authorization && new Secret(authorization.option, authorization.key);
    this.#base = parseEndpoint(options.url, authorization !== null);
    this.#timeoutMs = options.timeoutMs ?? 60_000;
    this.#rule = retryRule(options.retry);
    // Browsers refuse a fetch that is called as another object's method.
    this.#fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  }

  /** Sends a request and reads the JSON of its response. `isExpected` says whether it is what was asked for. */
  json<T>(call: Call, isExpected: (found: T) => boolean = () => true): Promise<T> {
    return this.#repeat(call, async (response, deadline) => {
      const text = await response.text();
      deadline.end();
      if (!response.ok) throw new ResponseError(parseFailure(response, text));
      const found = parseAnswer(response, text) as T;
      if (!isExpected(found)) throw unexpected(response, text, "the response is not what was asked for");
      return found;
    });
  }

  /**
   * Sends a request and passes its response on where `isForeign` says that it is not the server's own. Its body is then
   * read outside the time limit. The server's own response is read in time, and thrown if it is a failure.
   */
  response(call: Call, isForeign: (response: Response) => boolean): Promise<Response> {
    return this.#repeat(call, async (response, deadline) => {
      if (isForeign(response)) {
        deadline.stop();
        return response;
      }
      const text = await response.text();
      deadline.end();
      if (!response.ok) throw new ResponseError(parseFailure(response, text));
      return new Response(text, { status: response.status, headers: response.headers });
    });
  }

  async #repeat<T>(call: Call, read: (response: Response, deadline: Deadline) => Promise<T>): Promise<T> {
    const headers = new Headers(call.headers);
    if (this.#secret) headers.set(this.#header, this.#secret.reveal());
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(call, headers, read);
      } catch (error) {
        if (!(error instanceof RequestError)) throw error;
        const delay = call.repeatable(error) ? delayAfter(error, attempt, this.#rule) : null;
        if (delay === null) throw error.afterAttempts(attempt);
        await pause(delay, call.signal);
      }
    }
  }

  async #attempt<T>(call: Call, headers: Headers, read: (response: Response, deadline: Deadline) => Promise<T>): Promise<T> {
    call.signal?.throwIfAborted();
    const deadline = new Deadline(call.timeoutMs ?? this.#timeoutMs, call.signal);
    try {
      const init: RequestInit = { method: call.method, headers, signal: deadline.signal, redirect: "manual" };
      if (call.body !== undefined) init.body = call.body as NonNullable<RequestInit["body"]>;
      // Some frameworks store responses unless they are told not to, and some edge runtimes refuse the option.
      if ("cache" in Request.prototype) init.cache = "no-store";
      const fetch = this.#fetch;
      return await read(await fetch(this.#base + call.path, init), deadline);
    } catch (error) {
      deadline.end();
      if (error instanceof RequestError) throw error;
      call.signal?.throwIfAborted();
      throw new ConnectionError(describeSilence(error, deadline), deadline.expired, error);
    }
  }
}

function describeSilence(error: unknown, deadline: Deadline): string {
  if (deadline.expired) return "the server did not respond in time";
  const { cause } = error as { cause?: { code?: string; message?: string } };
  return `no response: ${cause?.code ?? cause?.message ?? String(error)}`;
}

function parseAnswer(response: Response, text: string): unknown {
  try {
    return text === "" ? undefined : JSON.parse(text);
  } catch {
    throw unexpected(response, text, "the response is not JSON");
  }
}

const unexpected = (response: Response, text: string, fault: string): ResponseError =>
  new ResponseError({ ...parseFailure(response, text), detail: `${fault}: check that url is the address of Pyxis` });
