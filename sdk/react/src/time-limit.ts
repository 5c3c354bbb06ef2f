/** Runs `read` with a signal that ends with the caller's, or when the time is over. */
export async function withTimeLimit<T>(
  milliseconds: number,
  caller: AbortSignal,
  read: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const follow = (): void => controller.abort(caller.reason);
  if (caller.aborted) follow();
  else caller.addEventListener("abort", follow);
  const timer = setTimeout(() => controller.abort(new Error("the time is over")), milliseconds);
  try {
    return await read(controller.signal);
  } finally {
    clearTimeout(timer);
    caller.removeEventListener("abort", follow);
  }
}
