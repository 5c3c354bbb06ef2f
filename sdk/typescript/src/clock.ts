/** Longest time of a timer. One that is set to more ends at once. */
const TIMER_MAX = 2 ** 31 - 1;

/** Waits, or throws the signal's reason as soon as it is aborted. */
export function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const timer = setTimeout(finish, Math.min(milliseconds, TIMER_MAX));
    function finish(): void {
      clearTimeout(timer);
      signal?.removeEventListener("abort", finish);
      if (signal?.aborted) reject(signal.reason);
      else resolve();
    }
    signal?.addEventListener("abort", finish);
  });
}

/**
 * Time limit of one attempt, which the caller's signal ends too. Node has `AbortSignal.any` from version 20.3 only.
 */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal | undefined;
  readonly #timer: ReturnType<typeof setTimeout>;
  readonly #follow = (): void => this.#controller.abort(this.#caller?.reason);
  /** True once the time is over. */
  expired = false;

  constructor(milliseconds: number, caller: AbortSignal | undefined) {
    this.#caller = caller;
    this.#timer = setTimeout(() => {
      this.expired = true;
      this.#controller.abort(new Error(`no response within ${milliseconds} ms`));
    }, milliseconds);
    if (caller?.aborted) this.#follow();
    else caller?.addEventListener("abort", this.#follow);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Stops the clock. The caller can still abort what is being read. */
  stop(): void {
    clearTimeout(this.#timer);
  }

  /** Stops the clock and lets go of the caller's signal. */
  end(): void {
    this.stop();
    this.#caller?.removeEventListener("abort", this.#follow);
  }
}
